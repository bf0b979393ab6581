"""The tasks of a job: the incarnations it counts on, and those that were replaced and are on their way out."""

from keepstep.contracts.events import Versions
from keepstep.contracts.ids import NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import LossCause, Phase
from keepstep.contracts.topology import Device, TaskRef


class Loss(Frozen):
    """The cluster says that a task is gone."""

    by: LossCause
    proven: bool


class Task(Frozen):
    """The current incarnation of one task; generations are 0 until the task has confirmed one."""

    ref: TaskRef
    incarnation: int = 1
    born: int = 1
    """Generation it was created for."""
    joined: bool = False
    node: NodeName | None = None
    address: str = ""
    ports: tuple[int, ...] = ()
    devices: tuple[Device, ...] = ()
    versions: Versions | None = None
    ran: int = 0
    """Newest generation whose run plan it may have followed."""
    stopped: int = 0
    """Newest generation for which it confirmed that the ranks of all older ones are gone."""
    started: int = 0
    stepped: int = 0
    phase: Phase = Phase.STEP
    """What its ranks were doing when its agent fell silent."""
    ended: bool = False
    lost: Loss | None = None
    proved: bool = False
    """Proof that its processes are dead was told apart from its loss, after it or even before."""
    unfit: str = ""
    """Why its processes cannot be counted on to be stopped: unkillable, or silent past the stop deadline."""
    stuck: bool = False
    """Its ranks survived SIGKILL: whatever they hold of the node stays held."""

    @property
    def at_rest(self) -> bool:
        """No rank of it can be alive: it confirmed a stop after the last generation it may have run."""
        return self.ran == 0 or self.stopped > self.ran

    @property
    def dead(self) -> bool:
        """Its processes are known to be dead."""
        return self.proved or (self.lost is not None and self.lost.proven)


class Leaving(Frozen):
    """A replaced incarnation whose ranks must be known to be dead before they are given out again."""

    ref: TaskRef
    node: NodeName | None
    ran: int
    stopped: int = 0
    stepped: bool = True
    """Its ranks had made a step: before that its agent's fence lets a rank live that uses CPU time."""
    phase: Phase = Phase.STEP
    gone: bool = False
    """Proven dead."""
    released: bool = False
    """The cluster holds it no longer, without proof."""
    fenced: bool = False
    """Its own fence must have stopped it by now."""

    @property
    def safe(self) -> bool:
        """Its ranks may be given out again."""
        return self.gone or self.fenced or self.ran == 0 or self.stopped > self.ran
