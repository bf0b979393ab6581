"""Telemetry: what an agent repeats every second; not stored, judged only by the detector."""

from pydantic import AwareDatetime

from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.topology import JobRef, TaskRef


class Exit(Frozen):
    """How a rank's process ended: exactly one of code and signal is set; both None if nobody could reap it."""

    code: int | None = None
    signal: int | None = None


class RankBeat(Frozen):
    """One rank as its agent sees it now; ages are seconds on the agent's monotonic clock."""

    rank: int
    pid: int
    exit: Exit | None = None
    state: str = "R"
    """Process state letter of proc(5)."""
    step: int | None = None
    """Last completed step; None before the first mark."""
    estimated: bool = False
    """The step was counted by the hook, not said by the script."""
    uses_torch: bool = False
    """The rank has imported torch, so that the hook would mark its steps."""
    phase: Phase = Phase.STARTING
    mark_age_s: float = 0.0
    """Since the last mark of any kind, or since the start."""
    idle_s: float = 0.0
    """How long the process has used no CPU time."""
    step_s: float | None = None
    """Median duration of recent steps."""
    stack: tuple[str, ...] = ()
    """Innermost frames first, ``file:function``, at most eight; empty until a stall was suspected."""
    stack_still_s: float = 0.0
    """How long that stack has not moved."""
    waiting: bool | None = None
    """The stack stands in a collective; None without a stack."""
    loss: float | None = None
    """Of the last step that the script told with one; None where it told none, or no number."""


class Heartbeat(Frozen):
    """One agent is alive and this is what it sees; ``boot`` changes when the agent restarts, ``sequence`` counts up."""

    time: AwareDatetime
    pool: Pool
    job: JobRef
    task: TaskRef
    node: NodeName
    generation: int
    boot: str
    sequence: int
    ranks: tuple[RankBeat, ...] = ()
    warm_ready: int = 0
    """Spare interpreters of the task that have done their imports."""
