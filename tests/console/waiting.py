"""Waiting on a condition, bounded."""

import asyncio
from collections.abc import Callable

LIMIT_S = 20.0
"""The machine may be busy; what is waited for takes milliseconds on a quiet one."""


async def until(condition: Callable[[], bool], *, within: float = LIMIT_S) -> None:
    """Return once the condition holds; TimeoutError if it does not in time."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - what is looked at has no event of its own
            await asyncio.sleep(0.01)
