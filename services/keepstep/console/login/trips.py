"""Keeps what must come back with a person from the provider: in a signed cookie of his browser, and each once only."""

import secrets
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from keepstep.console.login.provider import Trip
from keepstep.console.login.signing import Signer
from keepstep.contracts.model import Frozen

PURPOSE = "oidc"
LASTS = timedelta(minutes=10)
"""For a person to log in at the provider, with a second factor."""
MOST_SPENT = 10_000
"""Trips that are remembered as over; the provider takes no code twice either."""


class Waiting(Frozen):
    """What the cookie says."""

    state: str
    nonce: str
    verifier: str
    then: str
    """The page that was asked for."""
    until: AwareDatetime

    @property
    def trip(self) -> Trip:
        """What the provider is told, or must tell."""
        return Trip(state=self.state, nonce=self.nonce, verifier=self.verifier)


class Trips:
    """People on their way."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._spent: dict[str, datetime] = {}

    def begin(self, then: str, now: datetime) -> Waiting:
        """Return what goes along with somebody who leaves now."""
        state, nonce = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        return Waiting(state=state, nonce=nonce, verifier=secrets.token_urlsafe(48), then=then, until=now + LASTS)

    def cookie(self, waiting: Waiting) -> str:
        """Return it as a cookie's value."""
        return self._signer.sign(PURPOSE, waiting)

    def back(self, cookie: str | None, state: str | None, now: datetime) -> Waiting | None:
        """Return what went along with somebody who is back; None where another browser left, too late, or again."""
        found = None if cookie is None else self._signer.read(PURPOSE, cookie, Waiting)
        if found is None or found.state != state or now >= found.until or found.state in self._spent:
            return None
        kept = [(one, until) for one, until in self._spent.items() if until > now]
        self._spent = dict(kept[-MOST_SPENT:]) | {found.state: found.until}
        return found
