"""Words to tell a job's checkpoints in: what was saved, diagnosed and placed."""

from datetime import UTC, datetime, timedelta

from keepstep.checkpoint_manager.core import Checkpoints, Verify, Wake, decide, effects
from keepstep.contracts.events import (
    ActionsResumed,
    CheckpointChosen,
    CheckpointCommitted,
    CheckpointSaved,
    DeadlinePassed,
    FaultDiagnosed,
    IncidentClosed,
    IncidentOpened,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobFreed,
    JobStarted,
    JobStopRequested,
    JobSucceeded,
    Placed,
    RecoveryStarted,
    TaskLost,
    Verdict,
)
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, TaskUid, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome, Service
from keepstep.contracts.topology import Command, Culprit, JobRef, JobSpec, TaskRef
from keepstep.core.decision import Deadline

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


def goes_on(kind: type[ActionsResumed] | type[JobFreed] = ActionsResumed, name: str = "goes-on") -> Message:
    """Return that people let the job go on."""
    about = {"id": EventId(name), "time": NOW, "pool": POOL, "job": JOB}
    return kind.model_validate(about | ({"by": "ann"} if kind is ActionsResumed else {}))


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


def lost(index: int) -> TaskLost:
    return TaskLost(
        id=EventId(f"lost-{index}"),
        time=NOW,
        pool=POOL,
        job=JOB,
        node=NodeName(f"n{index + 1}"),
        ref=TASKS[index],
        by=LossCause.NODE_LOST,
        proven=True,
        at=NOW,
    )


def opened() -> IncidentOpened:
    return IncidentOpened(
        id=EventId("opened"), time=NOW, pool=POOL, job=JOB, fault=EventId("f"), because="rank 3 was killed"
    )


def closed() -> IncidentClosed:
    outcome, category = Outcome.CLEARED, Category.UNKNOWN
    return IncidentClosed(
        id=EventId("closed"), time=NOW, pool=POOL, job=JOB, outcome=outcome, category=category, because="b"
    )


def deleted() -> JobDeleted:
    return JobDeleted(id=EventId("deleted"), time=NOW, pool=POOL, job=JOB)


ENDS: tuple[Message, ...] = (
    JobSucceeded(id=EventId("succeeded"), time=NOW, pool=POOL, job=JOB),
    JobFailed(id=EventId("failed"), time=NOW, pool=POOL, job=JOB, category=Category.UNKNOWN, because="b"),
    JobStopRequested(id=EventId("stopped"), time=NOW, pool=POOL, job=JOB, by="bob"),
    deleted(),
)


def passed(deadline: Deadline) -> DeadlinePassed:
    about, service = {"time": deadline.due, "pool": POOL, "job": JOB}, Service.CHECKPOINT_MANAGER
    name = EventId(f"passed-{deadline.due}")
    return DeadlinePassed(id=name, **about, service=service, scope=JOB.uid, what=deadline.what, due=deadline.due)


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
        return [[step.step for step in wanted.steps] for wanted in effects(self.fold) if isinstance(wanted, Verify)]

    @property
    def woken(self) -> list[list[int]]:
        """Steps whose files are touched ahead of a verdict, newest first."""
        assert self.fold is not None
        return [[step.step for step in wanted.steps] for wanted in effects(self.fold) if isinstance(wanted, Wake)]
