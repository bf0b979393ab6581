"""Where a process's CPU time goes, by samples: unlike a tracing profiler it does not slow down what calls much."""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EVERY_S = 0.001
"""CPU time between two samples; the kernel's own tick may be as long as 4 ms."""
SHOWN = 30


class Samples:
    """What was seen running: the function itself, and every function below which it ran."""

    def __init__(self) -> None:
        self.total = 0
        self.alone: Counter[str] = Counter()
        self.within: Counter[str] = Counter()

    def take(self, _number: int, frame: FrameType | None) -> None:
        """Note the stack of the main thread."""
        self.total += 1
        names = list(_names(frame))
        self.alone.update(names[:1])
        self.within.update(set(names))

    def print(self) -> None:
        """Print the functions with the most samples, as shares of all."""
        for title, counts in (("in the function itself", self.alone), ("in it and what it calls", self.within)):
            print(f"\n{title}, {self.total} samples")
            for name, count in counts.most_common(SHOWN):
                print(f"{count / self.total:6.1%}  {name}")


@contextmanager
def sampled() -> Iterator[Samples]:
    """Sample the main thread while the block runs; SIGPROF is in use meanwhile."""
    samples = Samples()
    before = signal.signal(signal.SIGPROF, samples.take)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    try:
        yield samples
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _names(frame: FrameType | None) -> Iterator[str]:
    """Yield the functions of a stack, innermost first."""
    while frame is not None:
        code = frame.f_code
        yield f"{code.co_qualname} {'/'.join(code.co_filename.split('/')[-2:])}"
        frame = frame.f_back
