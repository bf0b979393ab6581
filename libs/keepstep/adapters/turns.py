"""Going through many things without keeping everybody else from a turn."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

V = TypeVar("V")

SLICE = 500
"""Things of one turn: some milliseconds of work each time."""


async def in_turns(items: Iterable[V]) -> AsyncIterator[V]:
    """Yield the items and let others have a turn now and then: 50,000 in one go take seconds of a busy machine."""
    for place, item in enumerate(items, 1):
        yield item
        if place % SLICE == 0:
            await asyncio.sleep(0)
