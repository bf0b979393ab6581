"""Sessions: a signed cookie says who logged in, how and until when; whoever logs out or loses his token is out."""

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256

from pydantic import AwareDatetime

from keepstep.console.access import User
from keepstep.console.login.signing import Signer
from keepstep.console.login.tokens import Entry
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Entrance, Role

PURPOSE, FORM = "session", "form"


class Session(Frozen):
    """What the cookie says."""

    id: str
    name: str
    role: Role
    until: AwareDatetime
    line: str = ""
    """Digest of the token's line; empty for somebody of a provider. Another line, or none, ends the session."""

    @property
    def source(self) -> Entrance:
        """How this person came in."""
        return Entrance.TOKEN if self.line else Entrance.OIDC


class Sessions:
    """The sessions of this process."""

    def __init__(self, signer: Signer, lasts: timedelta, entries: Callable[[], Mapping[str, Entry]]) -> None:
        self._signer, self._lasts, self._entries = signer, lasts, entries
        self._ended: dict[str, datetime] = {}

    def begin(self, user: User, now: datetime, *, entry: Entry | None = None) -> Session:
        """Return a new session. Its id is random: it must not be foretold."""
        line = "" if entry is None else _digest(entry)
        return Session(id=secrets.token_urlsafe(16), name=user.name, role=user.role, until=now + self._lasts, line=line)

    def cookie(self, session: Session) -> str:
        """Return the session as a cookie's value."""
        return self._signer.sign(PURPOSE, session)

    def read(self, cookie: str, now: datetime) -> Session | None:
        """Return the session of a cookie; None for one that is forged, garbled or over."""
        session = self._signer.read(PURPOSE, cookie, Session)
        return session if session is not None and self.user(session, now) is not None else None

    def user(self, session: Session, now: datetime) -> User | None:
        """Return who it is, with the role he has now; None where the session is over."""
        if now >= session.until or session.id in self._ended:
            return None
        if not session.line:
            return User(name=session.name, role=session.role)
        entry = self._entries().get(session.name)
        if entry is None or _digest(entry) != session.line:
            return None
        return User(name=entry.name, role=entry.role)

    def end(self, session: Session, now: datetime) -> None:
        """End a session: its cookie counts no more, whoever kept a copy."""
        self._ended = {one: until for one, until in self._ended.items() if until > now} | {session.id: session.until}

    def csrf(self, session: Session) -> str:
        """Return what a form of this session must hand back."""
        return self._signer.mark(FORM, session.id)

    def has_csrf(self, session: Session, given: str) -> bool:
        """Return whether a form was one of ours, given to this session."""
        return self._signer.marked(FORM, session.id, given)


def _digest(entry: Entry) -> str:
    """Return what tells a token's line from the next; a new role counts at once and ends nothing."""
    return sha256(f"{entry.name} {entry.hash}".encode()).hexdigest()[:32]
