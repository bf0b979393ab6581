"""Counts the work of a call in steps of the interpreter: the same on every machine, unlike its time."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(work: Callable[[], object]) -> int:
    """Return how many bytecodes the call takes, in Python that is; loops inside C count as one."""
    count = 0

    def traced(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            count += 1
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], Callable[[], object]], *, size: int = 30, times: int = 6) -> float:
    """Return how many times the work grows where its matter grows so many times; ``work`` prepares a size's call.

    About ``times`` for one that goes through its matter, about its square for one that seeks each in all.
    """
    return steps(work(size * times)) / steps(work(size))
