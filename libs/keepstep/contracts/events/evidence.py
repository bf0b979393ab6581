"""The evidence on which a fault is called, one small model per kind."""

from typing import Annotated, Literal

from pydantic import Field

from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category, LossCause, Phase, StallSign
from keepstep.contracts.telemetry import Exit


class ExitEvidence(Frozen):
    """A rank exited without having been asked to."""

    kind: Literal["exit"] = "exit"
    rank: int
    exit: Exit
    step: int | None = None
    phase: Phase = Phase.STARTING
    ran_s: float = 0.0
    last_lines: tuple[str, ...] = ()


class StallEvidence(Frozen):
    """A rank makes no progress; ``waiting`` tells those who wait in a collective from those who do not."""

    kind: Literal["stall"] = "stall"
    rank: int
    sign: StallSign
    step: int | None = None
    phase: Phase = Phase.STEP
    stalled_s: float = 0.0
    stack: tuple[str, ...] = ()
    waiting: bool | None = None


class SilenceEvidence(Frozen):
    """An agent was not heard for a whole loss window."""

    kind: Literal["silence"] = "silence"
    silent_s: float
    last_step: int | None = None
    phase: Phase | None = None
    """What its ranks were doing when last heard; that long their agent may let them live."""


class LogEvidence(Frozen):
    """A line of output that is a fault in itself."""

    kind: Literal["log"] = "log"
    rank: int
    rule: str
    category: Category
    line: str
    step: int | None = None


class LossEvidence(Frozen):
    """A task is gone from the cluster."""

    kind: Literal["loss"] = "loss"
    by: LossCause
    proven: bool
    """The task's processes are known to be gone."""
    text: str = ""


class UnkillableEvidence(Frozen):
    """Ranks could not be reaped after SIGKILL."""

    kind: Literal["unkillable"] = "unkillable"
    ranks: tuple[int, ...]


class DeviceEvidence(Frozen):
    """A device reported a fault code."""

    kind: Literal["device"] = "device"
    device: str
    code: str
    text: str = ""


class NodeEvidence(Frozen):
    """A node reported a condition, or an outside system did."""

    kind: Literal["node"] = "node"
    condition: str
    text: str = ""


Evidence = Annotated[
    ExitEvidence
    | StallEvidence
    | SilenceEvidence
    | LogEvidence
    | LossEvidence
    | UnkillableEvidence
    | DeviceEvidence
    | NodeEvidence,
    Field(discriminator="kind"),
]
