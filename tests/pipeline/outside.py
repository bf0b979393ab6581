"""Everything outside the services, which outlives them, and the blows that are to fall."""

from dataclasses import dataclass, field
from enum import StrEnum

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.taxonomy import Service
from tests.pipeline.cluster import MemoryCluster
from tests.pipeline.loop import LoopClock
from tests.pipeline.stream import MemoryBoard, MemoryStream, MemoryTelemetry

RESTART_S = 0.3
"""From a death to the successor's first look."""


class Blow(StrEnum):
    """What happens to a service at the chosen step."""

    KILL = "kill"
    KILL_AND_WIPE = "kill-and-wipe"
    """Killed, and its store is empty afterwards."""
    WIPE = "wipe"
    """Its store is emptied while it runs."""
    FREEZE = "freeze"
    """It stands still, is replaced, and then moves again."""


@dataclass(frozen=True)
class Strike:
    """One blow to one service at its nth step towards the outside, counted over all its lives."""

    service: Service
    step: int
    blow: Blow
    down_s: float = RESTART_S


@dataclass
class Outside:
    """Stream, plan board, heartbeats, cluster, stores and sink."""

    strikes: list[Strike] = field(default_factory=list)
    remembers: bool = True
    """The bus knows ids it has seen."""
    days_s: float = 0.0
    """How long the services are left alone when the story is over."""
    nodes: tuple[str, ...] = ("n1", "n2", "n3")
    steps: dict[Service, list[str]] = field(default_factory=lambda: {service: [] for service in Service})
    """The steps towards the outside that each service made."""
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stream = MemoryStream(remembers=self.remembers)
        self.board = MemoryBoard()
        self.telemetry = MemoryTelemetry()
        self.cluster = MemoryCluster(self.stream, self.board, self.telemetry, *self.nodes, clock=LoopClock())
        self.stores = {service: MemoryStore() for service in Service}
        self.fences = 0

    def count(self, service: Service, what: str) -> Strike | None:
        """Count one step of a service, and return the blow that falls on it."""
        made = self.steps[service]
        made.append(what)
        return next((s for s in self.strikes if (s.service, s.step) == (service, len(made))), None)
