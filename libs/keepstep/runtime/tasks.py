"""Ending tasks for certain."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

AGAIN_S = 0.2
"""Until a task that did not end is cancelled once more; tasks that clean up over the network are given longer."""


async def end(tasks: Iterable[asyncio.Task[Any]], *, again_s: float = AGAIN_S) -> None:
    """Cancel the tasks and return when all are done; their errors are dropped with them.

    Once is not enough: ``asyncio.wait_for`` of Python 3.11 forgets a cancellation that arrives together with the
    result it waits for, and nats-py uses it for every request, so that a task in a loop would run on. Being cancelled
    meanwhile changes nothing either; that is raised when all are done.
    """
    left = set(tasks)
    for task in [task for task in left if task.done()]:
        left.discard(task)
        if not task.cancelled():
            task.exception()  # else it is reported as never retrieved, on the screen of a run
    cancelled: asyncio.CancelledError | None = None
    while left:
        for task in left:
            task.cancel()
        try:
            await asyncio.wait(left, timeout=again_s)
        except asyncio.CancelledError as error:
            cancelled = error
        for task in left:
            if task.done() and not task.cancelled():
                task.exception()
        left = {task for task in left if not task.done()}
    if cancelled is not None:
        raise cancelled


async def within(work: Coroutine[Any, Any, T], limit_s: float | None) -> T:
    """Return what the work returns; raises TimeoutError if it was not done within so many seconds, None: for ever.

    For work that asks the bus: over ``asyncio.timeout`` a cancellation that nats-py forgets (see ``end``) is the only
    one there is, and what loops goes on past its limit.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=limit_s)
    finally:
        late = not task.done()
        await end((task,))
    if late and (task.cancelled() or task.exception() is not None):
        raise TimeoutError
    return task.result()


async def side_by_side(work: Callable[[S], Coroutine[Any, Any, T]], those: Sequence[S], *, most: int) -> list[T]:
    """Do the work for each of those, so many at a time, and return what came of it, in their order.

    Raises the first error of a time once all of that time are done: none goes on behind its caller's back.
    """
    found: list[T] = []
    for start in range(0, len(those), most):
        done = await asyncio.gather(*map(work, those[start : start + most]), return_exceptions=True)
        for one in done:
            if isinstance(one, BaseException):
                raise one
            found.append(one)
    return found
