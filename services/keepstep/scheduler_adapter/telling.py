"""Says many things at once: a rack of lost nodes is a thousand words, and each waits for the stream's answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Protocol

from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message
from keepstep.ports.clock import Clock

Say = Callable[[Message], Awaitable[None]]

AT_ONCE = 1024
"""Words on their way together: all that 200 lost nodes have to say. What waits here waits for each turn of a loop that
is busy with what the first words brought about, and the stages behind it have nothing to do meanwhile."""
REMEMBERED = 10_000
"""Ids of what was said: a node tells the same of its pods at each change until their folds know."""


class Said:
    """Ids of what was said, each with the moment (seconds, monotonic); the newest ones."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: dict[EventId, float] = {}

    def __contains__(self, word: EventId) -> bool:
        """Tell whether it was said."""
        return word in self._at

    def note(self, word: EventId) -> None:
        """Take in that it is said now."""
        self._at[word] = self._clock.monotonic()
        if len(self._at) > REMEMBERED:
            del self._at[next(iter(self._at))]

    def lately(self, word: EventId, *, within: timedelta) -> bool:
        """Tell whether it was said in this time: then its fold may not have heard it yet."""
        at = self._at.get(word)
        return at is not None and self._clock.monotonic() - at < within.total_seconds()

    def since(self, ago: timedelta) -> int:
        """Return how many were said in this time."""
        begin = self._clock.monotonic() - ago.total_seconds()
        return sum(at > begin for at in self._at.values())


class Tell(Protocol):
    """Says a message unless that was done already, or is needless; ``implies`` is what it leaves nobody to say."""

    async def __call__(self, message: Message, *, implies: Iterable[EventId] = ()) -> bool:
        """Return whether it is new."""


Needless = Callable[[EventId], bool]
"""Tells whether a word need not be said."""


@asynccontextmanager
async def telling(say: Say, said: Said, *, needless: Needless = lambda _: False) -> AsyncIterator[Tell]:
    """Yield what says a message, each id once, and returns before the stream has it; all are said when the block ends.

    The order on the way is the order of telling, unless one has to be tried again; a word about a job passes those
    about none that wait for their turn at the bus.
    """
    room = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:

        async def finish(message: Message) -> None:
            try:
                await say(message)
            finally:
                room.release()

        async def tell(message: Message, *, implies: Iterable[EventId] = ()) -> bool:
            if message.id in said or needless(message.id):
                return False
            for word in (message.id, *implies):
                said.note(word)
            await room.acquire()
            group.create_task(finish(message))
            return True

        yield tell
