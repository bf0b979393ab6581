"""A cancelled task ends, whatever it does with the cancellation."""

import asyncio
import gc

import pytest

from keepstep.runtime.tasks import end, side_by_side, within


async def test_a_task_that_forgets_a_cancellation_is_ended_all_the_same() -> None:
    forgotten = 0

    async def forgetful() -> None:
        nonlocal forgotten
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                forgotten += 1
                if forgotten == 3:
                    raise

    task = asyncio.create_task(forgetful())
    await asyncio.sleep(0)
    await asyncio.wait_for(end([task], again_s=0.01), 5)
    assert task.cancelled()
    assert forgotten == 3


async def test_who_ends_tasks_ends_them_even_when_cancelled_meanwhile() -> None:
    stubborn = asyncio.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.wait_for(stubborn.wait(), 5)

    task = asyncio.create_task(slow_to_end())
    await asyncio.sleep(0)
    ending = asyncio.create_task(end([task], again_s=10))
    await asyncio.sleep(0)
    ending.cancel()
    await asyncio.wait({ending}, timeout=0.05)
    assert task.done()
    assert ending.cancelled()


async def test_a_task_that_had_failed_already_is_not_reported_later() -> None:
    """A run that was stopped for a while showed the traceback of every lease it had lost."""
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))

    async def fail() -> None:
        raise ValueError("the lease was lost")

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    await end([task])
    del task
    gc.collect()
    await asyncio.sleep(0)
    assert reported == []


async def forgetful_for(cancellations: int) -> None:
    """Forget so many cancellations, as a loop over requests of nats-py does that find their answers there."""
    left = cancellations
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if left == 0:
                raise
            left -= 1


async def test_work_that_forgets_its_cancellation_is_held_to_its_limit_all_the_same() -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        await within(forgetful_for(2), 0.05)
    assert asyncio.get_running_loop().time() - began < 5


async def test_what_work_returns_or_raises_within_its_limit_is_handed_on() -> None:
    async def work(*, fails: bool) -> str:
        await asyncio.sleep(0)
        if fails:
            raise ValueError("no")
        return "done"

    assert await within(work(fails=False), 5) == "done"
    assert await within(work(fails=False), None) == "done"
    with pytest.raises(ValueError, match="no"):
        await within(work(fails=True), 5)


async def test_who_is_cancelled_while_work_goes_on_ends_the_work() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(within(work(), 60))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await end([waiting])
    assert ended.is_set()


async def test_work_side_by_side_is_done_so_many_at_a_time_and_in_order() -> None:
    now, most = 0, 0

    async def work(number: int) -> int:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0)
        now -= 1
        return number * number

    assert await side_by_side(work, range(10), most=4) == [number * number for number in range(10)]
    assert most == 4


async def test_where_one_of_those_side_by_side_fails_none_goes_on_behind_its_caller_s_back() -> None:
    done = list[int]()

    async def work(number: int) -> None:
        if number == 1:
            raise ValueError(number)
        await asyncio.sleep(0.01)
        done.append(number)

    with pytest.raises(ValueError, match="1"):
        await side_by_side(work, range(6), most=3)
    assert done == [0, 2]
    await asyncio.sleep(0.03)  # for whoever would go on
    assert done == [0, 2]
