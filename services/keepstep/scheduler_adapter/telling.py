"""Says many things at once: a rack of lost nodes is a thousand words, and each waits for the stream's answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message

Say = Callable[[Message], Awaitable[None]]
Tell = Callable[[Message], Awaitable[bool]]
"""Says a message unless that was done already; tells whether it is new."""

AT_ONCE = 1024
"""Words on their way together: all that 200 lost nodes have to say. What waits here waits for each turn of a loop that
is busy with what the first words brought about, and the stages behind it have nothing to do meanwhile."""
REMEMBERED = 10_000
"""Ids of what was said: a node tells the same of its pods at each change until their folds know."""


@asynccontextmanager
async def telling(say: Say) -> AsyncIterator[Tell]:
    """Yield what says a message, each id once, and returns before the stream has it; all are said when the block ends.

    The order on the way is the order of telling, unless one has to be tried again.
    """
    room, said = asyncio.Semaphore(AT_ONCE), dict[EventId, None]()
    async with asyncio.TaskGroup() as group:

        async def finish(message: Message) -> None:
            try:
                await say(message)
            finally:
                room.release()

        async def tell(message: Message) -> bool:
            if message.id in said:
                return False
            said[message.id] = None
            if len(said) > REMEMBERED:
                del said[next(iter(said))]
            await room.acquire()
            group.create_task(finish(message))
            return True

        yield tell
