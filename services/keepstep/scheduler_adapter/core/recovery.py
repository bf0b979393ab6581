"""One incident on its way to an end: its verdict, the answers to it, and the stage its recovery has reached."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import Verdict
from keepstep.contracts.ids import EventId, IncidentId, NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Level
from keepstep.core.budgets import BudgetClass


class Checkpoint(Frozen):
    """Where to resume; ``step`` None is from scratch."""

    step: int | None = None
    path: str | None = None


class Fence(Frozen):
    """The isolator's answer."""

    isolated: bool
    """The node takes no tasks."""
    because: str


class Joining(Frozen):
    """Waiting for both answers to the verdict."""

    kind: Literal["joining"] = "joining"
    since: AwareDatetime
    overdue: bool = False


class Waiting(Frozen):
    """Level wait: the fault may clear by itself."""

    kind: Literal["waiting"] = "waiting"
    until: AwareDatetime


class Stopping(Frozen):
    """The stop plan is out or on its way; replaced tasks leave and their successors are placed."""

    kind: Literal["stopping"] = "stopping"
    since: AwareDatetime
    """When it was planned; once announced, since when all tasks are asked to stop."""
    announced: bool = False
    """RecoveryStarted was said: older generations are stale."""
    overdue: bool = False
    """The stop deadline passed."""
    peers_stopped: AwareDatetime | None = None
    """When all that can be reached had stopped; a silent task fences itself from here on."""


class Starting(Frozen):
    """The run plan is out."""

    kind: Literal["starting"] = "starting"
    since: AwareDatetime


class Stepping(Frozen):
    """All ranks run; the first step of all is awaited."""

    kind: Literal["stepping"] = "stepping"
    since: AwareDatetime


RecoveryStage = Annotated[Joining | Waiting | Stopping | Starting | Stepping, Field(discriminator="kind")]


class Recovery(Frozen):
    """One incident on its way to an end."""

    incident: IncidentId
    cause: EventId
    """The FaultDiagnosed that is acted on."""
    group: str | None = None
    """Whom the incident shares its cause with, as the isolator's last answer that knew had it."""
    verdict: Verdict
    faults: tuple[EventId, ...]
    cleared: tuple[EventId, ...] = ()
    attempt: int = 1
    revision: int = 0
    burnt: int = 0
    """Newest attempt that was counted in the ledger."""
    burnt_as: BudgetClass | None = None
    """As what that was counted: a better verdict, or a loss, may tell later that it was another."""
    explained: BudgetClass | None = None
    """What the attempt counts as since a loss was told that explains its verdict; None: as the verdict says."""
    from_generation: int
    """Newest generation whose run plan was put out."""
    to_generation: int
    """Generation of the newest plan; before the first, the one that would follow."""
    stage: RecoveryStage
    checkpoint: Checkpoint | None = None
    fence: Fence | None = None
    level: Level | None = None
    level_since: AwareDatetime | None = None
    chain: tuple[Level, ...] = ()
    failed: frozenset[Level] = frozenset()
    gave_up: str = ""
    """Which level failed last, and why."""
    condemned: bool = False
    """A level failed with its culprit kept: the next one replaces it."""
    culprits: tuple[str, ...] = ()
    soft_avoid: tuple[NodeName, ...] = ()
    """Nodes not to use for replacements while there are others."""
    occurred: AwareDatetime
    detected: AwareDatetime
    diagnosed: AwareDatetime
    planned: AwareDatetime | None = None
    barred: AwareDatetime | None = None
    """Since when all is answered and a pause alone keeps from planning."""
    waits: tuple[tuple[AwareDatetime, AwareDatetime], ...] = ()
    """From when until when it was so before."""
    started: AwareDatetime | None = None
    step: int | None = None
    """Last completed step before the first fault."""

    @property
    def untouched(self) -> bool:
        """Nothing was done to the job so far but wait."""
        return all(level is Level.WAIT for level in self.chain)
