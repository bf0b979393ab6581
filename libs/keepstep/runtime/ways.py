"""Where a service's lanes lead."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef
from keepstep.runtime.advance import Wants
from keepstep.runtime.tail import Stored


@dataclass(frozen=True)
class Ways:
    """Where lanes lead: the stream, the dead letters, and whoever minds what folds want."""

    say: Callable[[Message], Awaitable[None]]
    bury: Callable[[Stored, str], Awaitable[None]]
    minded: Callable[[str, Wants, JobRef | None], None]
    ended: Callable[[Exception], None]
    """Called when this instance must step down."""
