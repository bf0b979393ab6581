"""Jobs whose pods a controller makes: one restart of the job instead of deletions, and an end that it respects."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal

from keepstep.contracts.events import RestartFailed, TaskReleased
from keepstep.contracts.ids import EventId, IncidentId, NodeName, Pool, TaskUid, consequence_id
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef, TaskRef
from keepstep.scheduler_adapter.core.recovery import Stopping
from keepstep.scheduler_adapter.core.state import JobState, Life


class Standing(Frozen):
    """A task that the cluster still holds, and where."""

    ref: TaskRef
    node: NodeName | None = None


class RestartTasks(Frozen):
    """Have the job's controller replace these tasks, as one act; wanted until their successors have joined."""

    kind: Literal["restart"] = "restart"
    pool: Pool
    job: JobRef
    incident: IncidentId
    cause: EventId
    attempt: int
    level: Level
    generation: int
    to_generation: int
    lost: tuple[Standing, ...]
    avoid: tuple[NodeName, ...]

    @property
    def id(self) -> str:
        """One for each plan that stops ranks: a successor goes on with the same restart."""
        return f"restart/{self.job.uid}/{self.to_generation}"

    def released(self, gone: Mapping[TaskUid, bool], now: datetime) -> tuple[TaskReleased, ...]:
        """Return what is said of those of the tasks that are gone, with proof of it or without."""
        there = {each.ref.uid: each for each in self.lost}
        return tuple(
            released(self.pool, self.job, self.generation, there[task], now=now, proven=proven)
            for task, proven in gone.items()
        )

    def failed(self, now: datetime, because: str) -> RestartFailed:
        """Return what is said when the cluster cannot do it."""
        subject = f"{self.level}/{self.to_generation}"
        return RestartFailed(
            id=consequence_id("RestartFailed", self.cause, subject=subject, attempt=self.attempt),
            time=now,
            pool=self.pool,
            job=self.job,
            generation=self.generation,
            incident=self.incident,
            cause=self.cause,
            attempt=self.attempt,
            level=self.level,
            to_generation=self.to_generation,
            because=because,
        )


class EndJob(Frozen):
    """See that the controller starts nothing again of a job that is over, and say when its tasks are gone."""

    kind: Literal["end"] = "end"
    pool: Pool
    job: JobRef
    generation: int
    tasks: tuple[Standing, ...] = ()
    succeeded: bool = False
    again: EventId | None = None
    """The word that somebody resumed it after its end, or that it is refused."""
    refused: bool = False
    """It never began, and may once it is put right."""

    @property
    def id(self) -> str:
        """One per job, and one for each time that it is refused, or resumed after its end."""
        return f"end/{self.job.uid}" + (f"/{self.again}" if self.again else "")

    def released(self, gone: Mapping[TaskUid, bool], now: datetime) -> tuple[TaskReleased, ...]:
        """Return what is said of those of the tasks that are gone, with proof of it or without."""
        there = {each.ref.uid: each for each in self.tasks}
        return tuple(
            released(self.pool, self.job, self.generation, there[task], now=now, proven=proven)
            for task, proven in gone.items()
        )


def released(pool: Pool, job: JobRef, generation: int, task: Standing, *, now: datetime, proven: bool) -> TaskReleased:
    """Return what is said when a task that keepstep takes out is gone; the same whoever sees it."""
    return TaskReleased(
        id=consequence_id("TaskReleased", EventId(task.ref.uid), attempt=int(proven)),
        time=now,
        pool=pool,
        job=job,
        task=task.ref.uid,
        node=task.node,
        generation=generation,
        ref=task.ref,
        proven=proven,
    )


def restarts(state: JobState, job: JobRef) -> Iterator[RestartTasks | EndJob]:
    """Yield what the job's controller is to be asked for."""
    recovery = state.recovery
    leaving = tuple(Standing(ref=left.ref, node=left.node) for left in state.leaving)
    if recovery is not None and leaving and recovery.level in (Level.POD, Level.JOB):
        if isinstance(recovery.stage, Stopping) and recovery.stage.announced:
            yield RestartTasks(
                pool=state.pool,
                job=job,
                incident=recovery.incident,
                cause=recovery.cause,
                attempt=recovery.attempt,
                level=recovery.level,
                generation=state.generation,
                to_generation=recovery.to_generation,
                lost=leaving,
                avoid=state.avoid,
            )
    elif all_ended(state):
        tasks = tuple(Standing(ref=task.ref, node=task.node) for task in state.tasks.values())
        well = len(state.exits) == state.specified().world_size and all(each.success for each in state.exits.values())
        yield EndJob(pool=state.pool, job=job, generation=state.generation, tasks=tasks + leaving, succeeded=well)


def all_ended(state: JobState) -> bool:
    """Tell whether the job is ending and none of its tasks has anything left to do."""
    return state.life is Life.ENDING and all(task.ended or not task.joined for task in state.tasks.values())


def safe_tasks(state: JobState) -> frozenset[TaskUid]:
    """Return the tasks to be replaced whose ranks are known to be dead: their pods may be taken by force."""
    return frozenset(left.ref.uid for left in state.leaving if left.safe)


def refused(state: JobState) -> EventId | None:
    """Return the word by which a job that stands on the cluster was refused, None where it was not, or is down."""
    if state.life is not Life.ENDED or state.spec is not None:
        return None
    if state.unobeyed is not None:
        return None if state.unobeyed.down else state.unobeyed.word
    known = state.controlled
    return None if known is None or known.suspended else known.word
