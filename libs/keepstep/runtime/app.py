"""How a service is put together: its stage, what it may touch, and what it does besides deciding."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service
from keepstep.ports.bindings import Bindings
from keepstep.ports.clock import Clock
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.plans import PlanBoard
from keepstep.runtime.stage import Stage
from keepstep.runtime.telemetry import Telemetry

S = TypeVar("S", bound=Frozen)


async def unburied(message: Message, because: str) -> None:
    """Refuse: a context that was made without a way to the dead letters gives nothing up."""
    raise AssertionError((message, because))


@dataclass(frozen=True)
class Context(Generic[S]):
    """What an active service may touch; handed to ``App.stage`` (for ``act``) and to background tasks.

    ``say`` publishes and returns when the stream has the message, however long that takes, or the dead letters have
    one that the stream never will; saying the same id again changes nothing. ``folds`` returns a read-only view of the
    current folds by key. ``bury`` puts a message among the dead letters with a reason, from where a person can have it
    said again; it returns when it lies there, and a second time within ten minutes changes nothing. ``metrics`` are
    those of the process; what a context was made without, nobody scrapes.
    """

    pool: Pool
    clock: Clock
    plans: PlanBoard
    telemetry: Telemetry
    say: Callable[[Message], Awaitable[None]]
    folds: Callable[[], Mapping[str, S]]
    bindings: Bindings
    bury: Callable[[Message, str], Awaitable[None]] = unburied
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class App(Generic[S]):
    """One service: the stage it becomes when active, and tasks that run beside it while it is.

    ``stage`` is called with a fresh Context at every activation. A background task runs until cancelled; if it raises
    it is logged, counted and started again with back-off.
    """

    service: Service
    stage: Callable[[Context[S]], Stage[S]]
    background: tuple[Callable[[Context[S]], Awaitable[None]], ...] = ()
