"""Work that goes on only while its lease is held: looked at before each of its steps.

Between two steps of a coroutine anything may pass: a pause of the machine, a burst on the loop. A lease that could have
run out meanwhile is not held any more, whoever has it, and the step that would write is not made.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import TypeVar

from keepstep.ports.errors import Fenced

T = TypeVar("T")


@coroutine
def stepwise(work: Coroutine[object, object, T], held: Callable[[], bool]) -> Generator[object, object, T]:
    """Return what the work returns; cancel it and raise Fenced at its first step for which the lease is not held."""
    fenced, value = False, None
    failing: BaseException | None = None
    while True:
        if not fenced and not held():
            fenced, failing = True, asyncio.CancelledError()
        try:
            awaited = work.send(value) if failing is None else work.throw(failing)
        except StopIteration as done:
            if fenced:
                raise _lost() from None
            result: T = done.value
            return result
        except asyncio.CancelledError:
            if fenced:
                raise _lost() from None
            raise
        failing, value = None, None
        try:
            value = yield awaited
        except BaseException as passed:
            failing = passed  # it is the work's, be it a cancellation


def _lost() -> Fenced:
    return Fenced("the lease could have run out between two steps")
