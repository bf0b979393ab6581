"""Where spans go: to whoever collects traces, if anybody does."""

from typing import Protocol

from keepstep.core.tracing import Span


class Tracer(Protocol):
    """Takes spans and brings them out by itself; one that cannot be brought out is lost, and nothing waits for it."""

    def add(self, span: Span) -> None:
        """Take one span; returns at once."""

    def close(self) -> None:
        """Bring out what waits, for a second or two at most, and stop."""
