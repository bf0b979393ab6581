"""Tells, in the log and on the bus, who came in, who went and who was refused; nobody who asks waits for that.

What people order needs no word of its own: the order says who gave it and by which role.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from keepstep.console.access import User
from keepstep.contracts.events import AccessRefused, LoggedIn, LoggedOut
from keepstep.contracts.ids import EventId, Pool, derive
from keepstep.contracts.message import Event
from keepstep.contracts.taxonomy import Entrance
from keepstep.ports.errors import Permanent
from keepstep.runtime.log import logger
from keepstep.runtime.tasks import end, within

MOST = 60
"""Refusals that are said in a minute: whoever guesses from everywhere must not fill the stream."""
WITHIN = timedelta(minutes=1)
WAITING = 1000
"""Events that wait for a bus that is away; past it the oldest stand in the log alone."""
SAY_S = 600.0
"""For the bus to take one: longer than its restarts take, and not for ever where it lets the console say none."""
LONGEST = 300
"""Characters of what was asked: the rest of a path that somebody made up."""


class Audit:
    """What is to be told, and the task that tells it."""

    def __init__(self, pool: Pool, now: Callable[[], datetime]) -> None:
        self._pool, self._now = pool, now
        self._waiting: deque[Event] = deque(maxlen=WAITING)
        self._there = asyncio.Event()
        self._said: deque[datetime] = deque(maxlen=MOST)
        self._unsaid = 0
        self._count = 0

    def came_in(self, user: User, via: Entrance, client: str) -> None:
        """Tell that somebody came in."""
        logger("console").info("logged in", by=user.name, role=user.role, via=via, client=client)
        self._tell(LoggedIn, by=user.name, role=user.role, via=via, client=client)

    def went(self, user: User, client: str) -> None:
        """Tell that somebody ended his session."""
        logger("console").info("logged out", by=user.name, client=client)
        self._tell(LoggedOut, by=user.name, client=client)

    def refused(self, via: Entrance, because: str, client: str, *, user: User | None = None, asked: str = "") -> None:
        """Tell that somebody was not let in, or may not do what he asked; on the bus at most sixty in a minute."""
        who = {} if user is None else {"by": user.name, "role": user.role}
        about = who | {"via": via, "asked": asked[:LONGEST], "because": because, "client": client}
        logger("console").warning("refused", **about)
        now = self._now()
        if len(self._said) == MOST and now - self._said[0] < WITHIN:
            self._unsaid += 1
            return
        self._said.append(now)
        unsaid, self._unsaid = self._unsaid, 0
        self._tell(AccessRefused, **about, unsaid=unsaid)

    def _tell(self, kind: type[Event], **about: object) -> None:
        self._count += 1
        now = self._now()
        name = derive("audit", kind.__name__, now.isoformat(), str(self._count), *(str(one) for one in about.values()))
        self._waiting.append(kind.model_validate({"id": EventId(name), "time": now, "pool": self._pool} | about))
        self._there.set()

    @asynccontextmanager
    async def running(self, say: Callable[[Event], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
        """Say on the bus what is told, for the block."""
        task = asyncio.ensure_future(self._telling(say))
        try:
            yield
        finally:
            await end((task,))

    async def _telling(self, say: Callable[[Event], Coroutine[Any, Any, None]]) -> None:
        while True:
            await self._there.wait()
            self._there.clear()
            while self._waiting:
                event = self._waiting.popleft()
                try:
                    await within(say(event), SAY_S)
                except (TimeoutError, Permanent) as error:
                    logger("console").error("the bus was not told", message=type(event).__name__, because=str(error))
