"""Says who asks: a token in the header, or the cookie of a session; the same for pages, API and streams."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from keepstep.console.access import User
from keepstep.console.login.attempts import Attempts
from keepstep.console.login.sessions import Session, Sessions
from keepstep.console.login.token_file import TokenFile
from keepstep.console.login.tokens import Entry
from keepstep.contracts.taxonomy import Entrance
from keepstep.ports.errors import Transient


@dataclass(frozen=True)
class Known:
    """Who asks, and by which session; without one by a token in the header."""

    user: User
    session: Session | None = None
    entry: Entry | None = None
    fresh: bool = False
    """This token was not shown before since the console began."""

    @property
    def via(self) -> Entrance:
        """How he shows who he is."""
        return Entrance.HEADER if self.session is None else self.session.source


@dataclass(frozen=True)
class Stranger:
    """Nobody, and why; ``wait_s`` where too many attempts failed or are under way."""

    because: str
    wait_s: float = 0.0
    tried: bool = False
    """Whether a token was shown, which was not right."""


@dataclass(frozen=True)
class Gatekeeper:
    """What the console knows people by."""

    sessions: Sessions
    tokens: TokenFile | None
    now: Callable[[], datetime]
    attempts: Attempts
    monotonic: Callable[[], float] = time.monotonic

    async def who(self, headers: Mapping[str, str], cookie: str | None, address: str) -> Known | Stranger:
        """Return who asks. A token that is shown counts alone: a wrong one is not mended by a cookie."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self.token(token.strip(), address)
        if cookie is None:
            return Stranger("log in first")
        session = self.sessions.read(cookie, self.now())
        user = None if session is None else self.sessions.user(session, self.now())
        return Stranger("the session is over; log in again") if user is None else Known(user, session)

    async def token(self, token: str, address: str) -> Known | Stranger:
        """Return whose token it is; wrong ones are counted by address, right ones that are known cost nothing."""
        if self.tokens is None:
            return Stranger("the console takes no tokens; log in through the provider", tried=True)
        found = self.tokens.known(token)
        if found is None:
            wait_s = self.attempts.begin(address, self.monotonic())
            if wait_s > 0:
                return Stranger("too many wrong tokens from this address; wait", wait_s, tried=True)
            try:
                found = await self.tokens.owner(token)
            except Transient as error:
                self.attempts.right(address)
                return Stranger(str(error), error.retry_after.total_seconds() + 1, tried=True)
            if found is None:
                return Stranger("the token is wrong or not in the file any more", tried=True)
            self.attempts.right(address)
            return Known(User(name=found.name, role=found.role), entry=found, fresh=True)
        return Known(User(name=found.name, role=found.role), entry=found)

    def still(self, known: Known) -> bool:
        """Return whether who asked a while ago may still hear the answer."""
        if known.session is not None:
            return self.sessions.user(known.session, self.now()) is not None
        entries = {} if self.tokens is None else self.tokens.entries
        return known.entry is not None and entries.get(known.entry.name) == known.entry
