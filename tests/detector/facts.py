"""A small world for the detector's tests: two tasks of two ranks on two nodes, and a clock that only tests move."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from keepstep.contracts.events import (
    DeadlinePassed,
    FaultCleared,
    FaultDetected,
    JobAccepted,
    JobStarted,
    Placed,
    RankExited,
    RecoveryPlanned,
    RecoveryStarted,
    TaskJoined,
    TaskLost,
    Versions,
)
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, TaskUid, derive
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy, Policy
from keepstep.contracts.taxonomy import Level, LossCause, Phase, Service
from keepstep.contracts.telemetry import Exit, Heartbeat, RankBeat
from keepstep.contracts.topology import Command, JobRef, JobSpec, TaskRef
from keepstep.core.decision import Deadline
from keepstep.detector.core import Fold, JobFold, decide, fold_key

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
POOL = Pool("default")
JOB = JobRef(name="train", uid=JobUid("job-1"))
NPROC = 2


def task(index: int, *, incarnation: int = 1) -> TaskRef:
    """Return an incarnation of a task."""
    return TaskRef(name=f"worker-{index}", uid=TaskUid(f"task-{index}-{incarnation}"), index=index)


def node(index: int) -> NodeName:
    """Return the node on which the task of this index runs first."""
    return NodeName(f"node-{index}")


def ranks_of(index: int) -> tuple[int, ...]:
    """Return the ranks of a task."""
    return tuple(range(index * NPROC, (index + 1) * NPROC))


def about(
    what: str, *, rank: int | None = None, generation: int | None = 1, ref: TaskRef | None = None, job: JobRef = JOB
) -> dict[str, Any]:
    """Return an envelope of the job, or of one rank's task; ``what`` makes the id."""
    if rank is not None and ref is None:
        ref = task(rank // NPROC)
    return {
        "id": EventId(derive(what, rank, generation, ref.uid if ref is not None else None)),
        "time": START,
        "pool": POOL,
        "job": job,
        "task": ref.uid if ref is not None else None,
        "node": node(ref.index) if ref is not None else None,
        "generation": generation,
    }


def accepted(policy: DetectionPolicy, *, nodes: int = 2) -> JobAccepted:
    """Return JobAccepted of a job with this policy."""
    spec = JobSpec(
        name="train",
        entrypoint=Command(argv=("train",)),
        nodes=nodes,
        nproc=NPROC,
        policy=Policy(detection=policy),
    )
    return JobAccepted(**about("accepted", generation=None), spec=spec)


def joined(ref: TaskRef) -> TaskJoined:
    """Return TaskJoined of a task on the node of its index."""
    return TaskJoined(
        **about("joined", ref=ref, generation=0),
        ref=ref,
        address="127.0.0.1",
        port_offers=(1,),
        versions=Versions(python="3.11", torch="2.13.0"),
        warm_ready=0,
    )


def started(nodes: int = 2) -> JobStarted:
    """Return JobStarted with every task in its place."""
    placement = tuple(Placed(task=task(i), node=node(i), ranks=ranks_of(i)) for i in range(nodes))
    return JobStarted(**about("started"), placement=placement)


def recovered(to: int, *, replace: tuple[TaskUid, ...] = ()) -> tuple[Message, ...]:
    """Return the plan and the start of the next generation."""
    level = Level.POD if replace else Level.IN_PLACE
    planned = about("planned", generation=to - 1)
    return (
        RecoveryPlanned(**planned, attempt=1, level=level, to_generation=to, replace=replace, because="a fault"),
        RecoveryStarted(
            **about("recovery", generation=to), attempt=1, level=level, from_generation=to - 1, to_generation=to
        ),
    )


def exited(rank: int, *, code: int | None = None, signal: int | None = None, **other: Any) -> RankExited:
    """Return how a rank ended; ``generation``, ``ref`` and ``ordered`` as needed."""
    ordered = other.pop("ordered", False)
    return RankExited(
        **about("exited", rank=rank, **other),
        rank=rank,
        local_rank=rank % NPROC,
        pid=1000 + rank,
        exit=Exit(code=code, signal=signal),
        ordered=ordered,
        at=START,
        step=30,
        phase=Phase.STEP,
    )


def lost(index: int, by: LossCause = LossCause.NODE_LOST) -> TaskLost:
    """Return that the cluster lost a task."""
    return TaskLost(**about("lost", ref=task(index)), ref=task(index), by=by, proven=True, at=START)


def passed(scope: str, deadline: Deadline) -> DeadlinePassed:
    """Return that a deadline of a fold passed."""
    fields = about(f"passed {deadline.due}") | {"job": JOB if scope == JOB.uid else None, "time": deadline.due}
    return DeadlinePassed(**fields, service=Service.DETECTOR, scope=scope, what=deadline.what, due=deadline.due)


def beat(
    index: int, now: float, ranks: Iterable[RankBeat] | None = None, *, generation: int = 1, job: JobRef = JOB
) -> Heartbeat:
    """Return the heartbeat of a task, its ranks as given or stepping along with time."""
    if ranks is None:
        ranks = [at_step(rank, int(now * 10)) for rank in ranks_of(index)]
    return Heartbeat(
        time=START + timedelta(seconds=now),
        pool=POOL,
        job=job,
        task=task(index),
        node=node(index),
        generation=generation,
        boot="boot",
        sequence=int(now * 1000),
        ranks=tuple(ranks),
    )


def at_step(rank: int, step: int | None = 30, **fields: Any) -> RankBeat:
    """Return a rank that makes ten steps a second, unless told otherwise."""
    known: dict[str, Any] = {"phase": Phase.STEP, "step_s": 0.1, "mark_age_s": 0.05}
    return RankBeat(rank=rank, pid=1000 + rank, step=step, **(known | fields))


@dataclass
class World:
    """The folds of the detector and everything it said, in order."""

    folds: dict[str, Fold] = field(default_factory=dict)
    said: list[Message] = field(default_factory=list)
    now: datetime = START

    def hear(self, *messages: Message) -> list[Message]:
        """Let the detector decide on each message and return what it said to them."""
        before = len(self.said)
        for message in messages:
            key = message.scope if isinstance(message, DeadlinePassed) else fold_key(message)
            if key is None:
                continue
            decision = decide(self.folds.get(key), message, self.now)
            self.folds[key] = Fold.model_validate_json(decision.state.model_dump_json())
            self.said.extend(decision.says)
        return self.said[before:]

    @property
    def jobs(self) -> tuple[JobFold, ...]:
        """The folds of all jobs."""
        return tuple(fold.of for fold in self.folds.values() if isinstance(fold.of, JobFold))

    @property
    def job(self) -> JobFold:
        """The one job's fold."""
        fold = self.folds[JOB.uid].of
        assert isinstance(fold, JobFold)
        return fold

    @property
    def faults(self) -> list[FaultDetected]:
        """All faults said so far."""
        return [message for message in self.said if isinstance(message, FaultDetected)]

    @property
    def cleared(self) -> list[FaultCleared]:
        """All faults that ended by themselves."""
        return [message for message in self.said if isinstance(message, FaultCleared)]


def running(policy: DetectionPolicy | None = None, *, nodes: int = 2) -> World:
    """Return a world in which the job runs in generation 1."""
    world = World()
    world.hear(accepted(policy or DetectionPolicy(), nodes=nodes))
    world.hear(*(joined(task(index)) for index in range(nodes)), started(nodes))
    return world
