"""Words to tell a job's checkpoints in: what was saved, diagnosed and placed."""

from datetime import UTC, datetime, timedelta

from keepstep.checkpoint_manager.core import Checkpoints, decide, effects
from keepstep.contracts.events import (
    CheckpointChosen,
    CheckpointCommitted,
    CheckpointSaved,
    FaultDiagnosed,
    JobAccepted,
    JobStarted,
    Placed,
    RecoveryStarted,
    TaskLost,
    Verdict,
)
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, TaskUid, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, LossCause
from keepstep.contracts.topology import Command, Culprit, JobRef, JobSpec, TaskRef

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOL = Pool("p")
JOB = JobRef(name="j", uid=JobUid("job-1"))
TASKS = tuple(TaskRef(name=f"worker-{i}", uid=TaskUid(f"w{i}"), index=i) for i in range(2))


def at(seconds: float) -> datetime:
    """Return the instant this long after the story begins."""
    return NOW + timedelta(seconds=seconds)


def accepted(*, nodes: int = 2, nproc: int = 2) -> JobAccepted:
    spec = JobSpec(name="j", entrypoint=Command(argv=("true",)), nodes=nodes, nproc=nproc)
    return JobAccepted(id=EventId("accepted"), time=NOW, pool=POOL, job=JOB, spec=spec)


def saved(
    step: int,
    ranks: tuple[int, ...] = (0, 1, 2, 3),
    *,
    generation: int = 1,
    shared: bool = True,
    node: str = "n1",
    written: float | None = None,
    path: str = "",
    files: tuple[str, ...] = (),
    size: int = 0,
    edition: str = "",
) -> CheckpointSaved:
    names = files or (f"step-{step}{'' if shared else '-' + '-'.join(map(str, ranks))}.pt",)
    return CheckpointSaved(
        id=EventId(derive("saved", step, *ranks, generation, str(written), node, edition)),
        time=NOW,
        pool=POOL,
        job=JOB,
        node=NodeName(node),
        generation=generation,
        step=step,
        path=path or f"/not/here/step-{step}.pt",
        files=names,
        ranks=ranks,
        shared=shared,
        size_bytes=size,
        written=None if written is None else at(written),
    )


def diagnosed(
    name: str = "verdict-1",
    *,
    bad: int | None = None,
    node: str | None = None,
    category: Category = Category.UNKNOWN,
    generation: int = 1,
) -> FaultDiagnosed:
    culprit = None if node is None else Culprit(node=NodeName(node))
    verdict = Verdict(category=category, culprit=culprit, confidence=1, because="b", rule="r", bad_checkpoint=bad)
    return FaultDiagnosed(
        id=EventId(name),
        time=NOW,
        pool=POOL,
        job=JOB,
        generation=generation,
        verdict=verdict,
        faults=(EventId("f"),),
        occurred=NOW,
        detected=NOW,
    )


def started() -> JobStarted:
    placement = (
        Placed(task=TASKS[0], node=NodeName("n1"), ranks=(0, 1)),
        Placed(task=TASKS[1], node=NodeName("n2"), ranks=(2, 3)),
    )
    return JobStarted(id=EventId("started"), time=NOW, pool=POOL, job=JOB, generation=1, placement=placement)


def renewed(generation: int, when: float) -> RecoveryStarted:
    return RecoveryStarted(
        id=EventId(f"renewed-{generation}"),
        time=at(when),
        pool=POOL,
        job=JOB,
        attempt=1,
        level=Level.IN_PLACE,
        from_generation=generation - 1,
        to_generation=generation,
    )


def lost(node: str) -> TaskLost:
    return TaskLost(
        id=EventId(f"lost-{node}"),
        time=NOW,
        pool=POOL,
        job=JOB,
        node=NodeName(node),
        ref=TASKS[0],
        by=LossCause.NODE_LOST,
        proven=True,
        at=NOW,
    )


class Tale:
    """A job's fold and all that was said while it was told."""

    def __init__(self, *told: Message) -> None:
        self.fold: Checkpoints | None = None
        self.said: list[Message] = []
        self.tell(*told)

    def tell(self, *messages: Message) -> "Tale":
        """Hear these in order."""
        for message in messages:
            decision = decide(self.fold, message, message.time)
            self.fold = Checkpoints.model_validate_json(decision.state.model_dump_json())
            self.said += decision.says
        return self

    @property
    def committed(self) -> list[int]:
        return [one.step for one in self.said if isinstance(one, CheckpointCommitted)]

    @property
    def answers(self) -> list[CheckpointChosen]:
        return [one for one in self.said if isinstance(one, CheckpointChosen)]

    @property
    def candidates(self) -> list[list[int]]:
        """Steps that may be chosen, per verdict that waits, newest first."""
        assert self.fold is not None
        return [[step.step for step in wanted.steps] for wanted in effects(self.fold)]
