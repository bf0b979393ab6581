"""Waits for the first of several ends."""

import asyncio
from collections.abc import Coroutine

from keepstep.runtime.tasks import end


async def outcome(broken: "asyncio.Future[None]") -> None:
    """Return once the future is done, however."""
    await asyncio.wait([broken])


async def first_of(*work: Coroutine[None, None, object], limit_s: float | None = None) -> None:
    """Return when one is done, raising what it raised, or after ``limit_s`` seconds; the others are cancelled."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left = [task for task in tasks if not task.done()]
        await end(left)
    for task in done:
        task.result()
