"""A cancelled task ends, whatever it does with the cancellation."""

import asyncio
import gc

from keepstep.runtime.tasks import end


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
