"""Events that agents say: what they saw, and what they made of the plan."""

from typing import Literal

from pydantic import AwareDatetime

from keepstep.contracts.message import Event
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Applied, Category, Phase, StallSign
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Device, TaskRef

MAX_LINES = 20
MAX_LINE_LENGTH = 2048


class Versions(Frozen):
    """What runs in the task; None where it is not there."""

    python: str
    torch: str | None = None
    framework: str | None = None


class TaskJoined(Event):
    """A task's agent and launcher are up and offer an address and ports for the master."""

    ref: TaskRef
    address: str
    port_offers: tuple[int, ...]
    versions: Versions
    warm_ready: int
    devices: tuple[Device, ...] = ()
    """What the node gave the task, where a rank table is to name it."""
    applied: int = 0
    """Generation whose ranks run already, as after a restart of the agent alone; 0 when none does.

    People read it; the plan, not this word, tells the agent what to do, and PlanApplied what it did.
    """


class PlanApplied(Event):
    """An agent did, or refused, what the plan of this generation asks."""

    applied: Applied
    port_offers: tuple[int, ...] = ()
    unkillable: tuple[int, ...] = ()
    """Ranks that could not be reaped after SIGKILL."""
    warm_used: int = 0
    because: str = ""


class FirstStepDone(Event):
    """All local ranks completed their first step of this generation; stage times are of the slowest rank."""

    step: int | None
    estimated: bool = False
    init_s: float = 0.0
    load_s: float = 0.0
    first_step_s: float = 0.0


class RankExited(Event):
    """A rank's process ended; ``ordered`` when keepstep asked for it."""

    rank: int
    local_rank: int
    pid: int
    exit: Exit
    ordered: bool
    at: AwareDatetime
    step: int | None = None
    phase: Phase = Phase.STARTING
    ran_s: float = 0.0
    last_lines: tuple[str, ...] = ()
    """The last lines of stderr, else of stdout; at most 20 of at most 2 KiB."""


class RankStalled(Event):
    """A rank shows positive local evidence of a stall: its process is stopped, uninterruptible or defunct."""

    rank: int
    sign: StallSign
    state: str
    since: AwareDatetime
    step: int | None = None
    phase: Phase = Phase.STEP
    episode: int = 1


class RankRecovered(Event):
    """The stall that RankStalled told of is over without help."""

    rank: int
    episode: int


class LogMatched(Event):
    """A line of a rank's output matched a rule."""

    rank: int
    rule: str
    category: Category
    line: str
    source: str
    offset: int
    step: int | None = None


class CheckpointSaved(Event):
    """A complete, stable, loadable set of checkpoint files of one step was found."""

    step: int
    path: str
    files: tuple[str, ...]
    ranks: tuple[int, ...]
    """Ranks whose state the files hold; all of them where one file serves all."""
    shared: bool = True
    size_bytes: int = 0
    written: AwareDatetime | None = None
    """Newest modification time of the files: tells a step written anew from the old files found again."""
    save_s: float | None = None
    """Seconds that saving it took, from a rank's first call that wrote one of the files to the end of its last, of the
    slowest rank here. None where none told: a script that saves by other means than torch and ``trainer.phase``."""


class EvidenceCaptured(Event):
    """Stacks or other evidence taken for an incident, bounded in size."""

    rank: int
    what: Literal["stack", "log_tail"]
    """Agents take stacks. ``log_tail`` is for the bundle of an incident's logs, which has no speaker yet: of a rank
    that exited RankExited has the last lines."""
    lines: tuple[str, ...]


class DeviceReported(Event):
    """A node agent reports a device fault or its end."""

    device: str
    code: str
    text: str = ""
    active: bool = True
    once: bool = False
    """It was over as soon as it was seen, as a line of the kernel's log is: the next report is another one."""
    hurts: bool = True
    """A training on the device suffers from it; else it is for people to know, and no fault."""


class NodeReported(Event):
    """A node agent reports a condition of its node or its end."""

    condition: str
    text: str = ""
    active: bool = True
    once: bool = False
    """As of DeviceReported."""
    hurts: bool = True
    """As of DeviceReported, for a training on the node."""


class LinkReported(Event):
    """A node agent reports a network port going down or up."""

    port: str
    up: bool
