"""What the gate remembers of answers, and that it remembers no failure to get one."""

import asyncio

import pytest

from keepstep.gate.app import Remembered
from keepstep.ports.errors import Transient

SECONDS = 30.0


class Reviews:
    """The API server's answers, in their order."""

    def __init__(self, *answers: str | Exception) -> None:
        self.left = list(answers)

    async def __call__(self) -> str:
        answer = self.left.pop(0)
        await asyncio.sleep(0)  # a turn, as any request takes
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_an_answer_counts_for_a_while() -> None:
    now = 0.0
    known: Remembered[str] = Remembered(SECONDS, lambda: now)
    reviews = Reviews("first", "second")
    assert [await known.get("a", reviews) for _ in range(2)] == ["first", "first"]
    now = SECONDS + 1
    assert await known.get("a", reviews) == "second"


@pytest.mark.parametrize("failure", [Transient("busy"), ValueError("a bug")], ids=["busy", "bug"])
async def test_a_failure_is_not_remembered(failure: Exception) -> None:
    """Whatever was no error of ours turned every agent of an account away for half a minute."""
    known: Remembered[str] = Remembered(SECONDS, lambda: 0.0)
    reviews = Reviews(failure, "in")
    with pytest.raises(type(failure)):
        await known.get("a", reviews)
    assert await known.get("a", reviews) == "in"


async def test_a_failure_that_nobody_waited_for_is_not_told_to_the_next() -> None:
    known: Remembered[str] = Remembered(SECONDS, lambda: 0.0)
    reviews = Reviews(Transient("busy"), "in")
    gone = asyncio.create_task(known.get("a", reviews))
    await asyncio.sleep(0)  # it asks
    gone.cancel()
    await asyncio.wait([gone])
    for _ in range(3):
        await asyncio.sleep(0)  # the answer comes to nobody
    assert await known.get("a", reviews) == "in"
