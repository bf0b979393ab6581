"""What many pods at once mean is said at once, and each word a single time."""

import asyncio
from datetime import UTC, datetime

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.ids import EventId, Pool
from keepstep.contracts.message import Message
from keepstep.scheduler_adapter.telling import AT_ONCE, Said, telling

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Stream:
    """A stream that answers when it is let."""

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.asked: list[str] = []
        self.had: list[str] = []

    async def say(self, message: Message) -> None:
        self.asked.append(message.id)
        await self.let.wait()
        self.had.append(message.id)


def word(number: int) -> Message:
    return Message(id=EventId(f"id-{number}"), time=NOW, pool=Pool("p"))


async def tell(stream: Stream, *numbers: int) -> list[bool]:
    """Tell these words and return which were new."""
    async with telling(stream.say, Said(SystemClock())) as say:
        return [await say(word(number)) for number in numbers]


async def settle() -> None:
    for _ in range(4 * AT_ONCE):
        await asyncio.sleep(0)


async def test_many_words_wait_for_the_stream_together_and_in_the_order_of_telling() -> None:
    stream = Stream()
    words = [f"id-{number}" for number in range(3 * AT_ONCE)]
    speaking = asyncio.create_task(tell(stream, *range(3 * AT_ONCE)))
    await settle()
    assert stream.asked == words[:AT_ONCE]
    assert not speaking.done()
    stream.let.set()
    await asyncio.wait_for(speaking, 20)
    assert stream.had == words


async def test_a_word_is_said_once_however_often_it_is_told() -> None:
    stream = Stream()
    stream.let.set()
    assert await tell(stream, 1, 2, 1, 1, 2) == [True, True, False, False, False]
    assert stream.had == ["id-1", "id-2"]
