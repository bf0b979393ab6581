"""What keepstep asks of a cluster whose pods are made by job controllers: find jobs, restart and end them as one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeAlias

from keepstep.contracts.events import Finish, LevelRefusal
from keepstep.contracts.ids import IncidentId, JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef, JobSpec


@dataclass(frozen=True)
class Found:
    """A job of keepstep's that runs or is about to; ``levels`` are those that its kind and policies allow."""

    job: JobRef
    kind: str
    spec: JobSpec
    levels: frozenset[Level]
    refusals: tuple[LevelRefusal, ...] = ()
    resumed: bool = False
    """It runs although keepstep had put it down: somebody resumed it."""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Of its object, without keepstep's own."""


@dataclass(frozen=True)
class Suspended:
    """A job whose controller was told by somebody else to make no pods; ``because`` says how it goes on."""

    job: JobRef
    kind: str
    because: str


@dataclass(frozen=True)
class Unfit:
    """A job that asks for keepstep in a way that cannot be obeyed; ``because`` names the field and the remedy."""

    job: JobRef
    kind: str
    because: str


@dataclass(frozen=True)
class Finished:
    """A job that its own controller ended, or whose object is gone."""

    job: JobRef
    kind: str
    how: Finish
    because: str


Sighting: TypeAlias = Found | Suspended | Unfit | Finished


@dataclass(frozen=True)
class Listing:
    """The job objects there are; of the kinds in ``unseen`` there may be more, which nobody can see now."""

    jobs: frozenset[JobUid]
    unseen: frozenset[str] = frozenset()
    """As the first word of a job's ``kind`` names them: PyTorchJob."""

    def lacks(self, job: JobUid, kind: str) -> bool:
        """Return whether a job of this kind surely has no object any more."""
        return job not in self.jobs and kind.partition(" ")[0] not in self.unseen


@dataclass(frozen=True)
class RestartOrder:
    """A restart of one job as one act; the same ``id`` is the same restart, whoever carries it on."""

    id: str
    job: JobUid
    incident: IncidentId
    level: Level
    lost: frozenset[TaskUid]
    """The tasks to be replaced."""
    safe: frozenset[TaskUid] = frozenset()
    """Those of them whose ranks are known to be dead, also where a node does not answer."""
    avoid: frozenset[NodeName] = frozenset()


@dataclass(frozen=True)
class RestartReport:
    """How far a restart is: which of the lost tasks the cluster holds no longer, and whether the new pods run."""

    because: str
    gone: Mapping[TaskUid, bool] = field(default_factory=dict)
    """By task that the cluster holds no longer, whether its processes are known to be dead."""
    done: bool = False
    waits: str = ""
    """What it waits for where only people can bring it, as they are told; "" where the cluster does by itself."""


class Changes(Protocol):
    """What changes of one job and its pods, as the cluster tells."""

    async def any(self, *, within: timedelta) -> bool:
        """Return True once there was a change since the last call, False when there was none in that time."""


class Controllers(Protocol):
    """Jobs and their controllers; only the scheduler-adapter writes. Methods raise Transient while out of reach."""

    async def jobs(self) -> Listing:
        """Return all job objects there are that ask for keepstep."""

    def sightings(self) -> AsyncIterator[Sighting]:
        """Yield every job at start and then every change, deletions too."""

    async def restart(self, order: RestartOrder) -> RestartReport:
        """Look where the restart stands, do what is due, and return without waiting; call until it is done.

        Raises NoRoom while nodes to avoid would take the new pods, LevelRefused when the level cannot be had.
        """

    def watching(self, job: JobUid) -> AbstractContextManager[Changes]:
        """Hear for the block what changes of a job, so that looks at a restart need not be frequent."""

    async def end(
        self, job: JobUid, tasks: frozenset[TaskUid], *, succeeded: bool, refused: bool = False
    ) -> Mapping[TaskUid, bool]:
        """See that the controller starts nothing again of a job that is over; gone or finished is fine.

        One that was ``refused`` never began, and begins once it is put right and resumed.

        A job without tasks is put down at once: nobody would tell its launchers to end. Raises Transient until it is.

        Returns which of the tasks the cluster holds no longer, as a restart reports them; call until all are gone.
        """
