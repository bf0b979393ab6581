"""Going through many things without keeping everybody else from a turn."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

V = TypeVar("V")

SLICE = 500
"""Things of one turn: some milliseconds of work each time."""


class Turns:
    """Gives all others a turn after every so many things: where the next one is there at once, nothing else does."""

    def __init__(self, every: int) -> None:
        self._every, self._done = every, 0

    async def done(self) -> None:
        """Count one more thing as done."""
        self._done += 1
        if self._done % self._every == 0:
            await asyncio.sleep(0)


async def in_turns(items: Iterable[V]) -> AsyncIterator[V]:
    """Yield the items and let others have a turn now and then: 50,000 in one go take seconds of a busy machine."""
    turns = Turns(SLICE)
    for item in items:
        yield item
        await turns.done()
