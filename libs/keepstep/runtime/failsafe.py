"""The one place that catches whatever is raised: what fails is noted by its caller, and nothing is dropped."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Outcome:
    """How a guarded block ended; ``error`` is None when it ran through."""

    error: Exception | None = None


@contextmanager
def guarded() -> Iterator[Outcome]:
    """Run the block and keep its exception for the caller, who must look: nack, count, log with traceback."""
    outcome = Outcome()
    try:
        yield outcome
    except Exception as error:
        outcome.error = error
