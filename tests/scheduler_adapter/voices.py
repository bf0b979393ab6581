"""What agents, cluster, isolator and checkpoint-manager say of one job, as the real ones would at this moment."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from keepstep.contracts.events import (
    CheckpointChosen,
    CheckpointCommitted,
    FaultDiagnosed,
    FirstStepDone,
    IsolationDeclined,
    NodeIsolated,
    PlanApplied,
    RankExited,
    TaskJoined,
    TaskLost,
    TaskReleased,
    Verdict,
    Versions,
)
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, TaskUid, derive
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanHead
from keepstep.contracts.taxonomy import Applied, Category, LossCause
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit, JobRef, JobSpec, Script, TaskRef
from keepstep.scheduler_adapter.core import JobState

POOL = Pool("p")
JOB = JobRef(name="main", uid=JobUid("job-1"))
START = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(milliseconds=10)
TORCH = Versions(python="3.11.2", torch="2.13.0+cpu")


def spec(**changes: Any) -> JobSpec:
    """Return a job of two tasks with two ranks each."""
    fields: dict[str, Any] = {"name": "main", "entrypoint": Script(path="/train.py"), "nodes": 2, "nproc": 2}
    return JobSpec(**(fields | changes))


class Voices:
    """The surroundings of one job that speak: who runs where, and what became of it."""

    def __init__(self, job: JobSpec, *, nodes: Iterable[str], versions: Versions) -> None:
        self.spec = job
        self.state: JobState | None = None
        self.now = START
        self.nodes = dict.fromkeys(nodes, True)
        """Which nodes take tasks."""
        self.placed: dict[TaskUid, tuple[TaskRef, str]] = {}
        self.versions = versions

    @property
    def fold(self) -> JobState:
        """The fold, once there is one."""
        assert self.state is not None
        return self.state

    def uid(self, name: str) -> TaskUid:
        """Return the uid of the current incarnation of a task."""
        return self.fold.tasks[name].ref.uid

    def verdict(self, **changes: Any) -> Verdict:
        """Return a verdict; by default rank 3 was killed by nobody knows whom."""
        fields: dict[str, Any] = {
            "category": Category.UNKNOWN,
            "culprit": Culprit(rank=3),
            "confidence": 0.5,
            "because": "killed",
            "rule": "exit",
            "signature": "SIGKILL",
            "step": 30,
        }
        return Verdict(**(fields | changes))

    def chosen(self, event: FaultDiagnosed, step: int | None = 20) -> CheckpointChosen:
        """Return the checkpoint-manager's answer."""
        return CheckpointChosen(
            id=EventId(derive("chosen", event.id)),
            time=self.now,
            pool=POOL,
            job=JOB,
            incident=event.incident,
            cause=event.id,
            step=step,
            path=None if step is None else f"/ckpt/step-{step}",
            because="newest",
        )

    def fenced(self, event: FaultDiagnosed, *, isolated: bool | None = None) -> Message:
        """Return the isolator's answer; a node that is to be isolated is cordoned."""
        fields: dict[str, Any] = {"time": self.now, "pool": POOL, "job": JOB, "incident": event.incident}
        fields |= {"id": EventId(derive("fenced", event.id)), "cause": event.id}
        culprit = event.verdict.culprit
        if isolated or (isolated is None and event.verdict.isolate and culprit and culprit.node):
            assert culprit is not None
            self.nodes[str(culprit.node)] = False
            return NodeIsolated(**fields, node=culprit.node, reason="r", because="b")
        return IsolationDeclined(**fields, because="nothing to isolate")

    def committed(self, step: int) -> CheckpointCommitted:
        """Return the checkpoint-manager's word that a step is whole."""
        path = f"/ckpt/step-{step}"
        return CheckpointCommitted(
            id=EventId(f"committed-{step}"), time=self.now, pool=POOL, job=JOB, step=step, path=path, files=(path,)
        )

    def exit(self, rank: int, *, code: int = 0, ran_s: float = 60, generation: int | None = None) -> RankExited:
        """Return the report that a rank ended."""
        now = generation or self.fold.generation
        name = f"worker-{rank // self.spec.nproc}"
        return RankExited(
            id=EventId(derive("exit", rank, now)),
            time=self.now,
            pool=POOL,
            job=JOB,
            task=self.uid(name),
            generation=now,
            rank=rank,
            local_rank=rank % self.spec.nproc,
            pid=100 + rank,
            exit=Exit(code=code),
            ordered=False,
            at=self.now,
            ran_s=ran_s,
            step=100,
        )

    def lose(self, name: str, by: LossCause = LossCause.NODE_LOST, *, proven: bool = True) -> TaskLost:
        """Take a task away, with its node if that is the cause, and return the watch's word on it."""
        ref = self.fold.tasks[name].ref
        _, node = self.placed.pop(ref.uid, (ref, "?"))
        if by is LossCause.NODE_LOST:
            self.nodes[node] = False
        return TaskLost(
            id=EventId(derive("lost", ref.uid, int(proven))),
            time=self.now,
            pool=POOL,
            job=JOB,
            task=ref.uid,
            node=NodeName(node),
            generation=self.fold.generation,
            ref=ref,
            by=by,
            proven=proven,
            at=self.now,
        )

    def lost_for_good(self, uid: TaskUid) -> TaskReleased:
        """Return the watch's proof that a task which was taken out is dead."""
        left = next(left for left in self.fold.leaving if left.ref.uid == uid)
        return TaskReleased(
            id=EventId(derive("proof", uid)), time=self.now, pool=POOL, job=JOB, task=uid, ref=left.ref, proven=True
        )

    def joined(self, ref: TaskRef, node: str) -> TaskJoined:
        """Return an agent's first word."""
        return TaskJoined(
            id=EventId(derive("joined", ref.uid)),
            time=self.now,
            pool=POOL,
            job=JOB,
            task=ref.uid,
            node=NodeName(node),
            ref=ref,
            address="127.0.0.1",
            port_offers=_first_offers(ref),
            versions=self.versions,
            warm_ready=2,
        )

    def applied(self, ref: TaskRef, generation: int, applied: Applied, **changes: Any) -> PlanApplied:
        """Return an agent's word on a plan."""
        offers = self._offers(ref)
        return PlanApplied(
            id=EventId(derive("applied", ref.uid, generation, applied)),
            time=self.now,
            pool=POOL,
            job=JOB,
            task=ref.uid,
            generation=generation,
            applied=applied,
            port_offers=offers if applied is Applied.STOPPED else (),
            **changes,
        )

    def _offers(self, ref: TaskRef) -> tuple[int, ...]:
        """Return ports that change only when the task's ranks ran: which of its words comes first must not matter."""
        known = self.fold.named(ref.uid)
        return _first_offers(ref) if known is None or known.ran == 0 else (6001 + known.ran, 7000)

    def first_step(self, ref: TaskRef, head: PlanHead) -> FirstStepDone:
        """Return an agent's word that all its ranks step."""
        return FirstStepDone(
            id=EventId(derive("first", ref.uid, head.generation)),
            time=self.now,
            pool=POOL,
            job=JOB,
            task=ref.uid,
            generation=head.generation,
            step=(head.resume_step or 0) + 1,
            init_s=0.002,
            load_s=0.001,
            first_step_s=0.001,
        )


def _first_offers(ref: TaskRef) -> tuple[int, ...]:
    """Return the ports that a task offers until it has run."""
    return 4000 + ref.index, 5000
