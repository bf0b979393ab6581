"""A job's surroundings in memory: agents, cluster, isolator and checkpoint-manager that answer as the real ones do.

The scheduler-adapter's core is driven message by message; what it wants done is done here, and what comes of it waits
in ``pending`` until the test lets it arrive.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from keepstep.contracts.events import (
    CheckpointChosen,
    DeadlinePassed,
    FaultDiagnosed,
    FirstStepDone,
    IncidentOpened,
    IsolationDeclined,
    JobWaiting,
    NodeIsolated,
    PlanApplied,
    RankExited,
    TaskJoined,
    TaskLost,
    TaskReleased,
    Verdict,
    Versions,
)
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, TaskUid, derive, incident_id
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob, PlanHead
from keepstep.contracts.taxonomy import Applied, Category, LossCause, PlanPhase, Service
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit, JobRef, JobSpec, Script, TaskRef
from keepstep.core.sentences import counted
from keepstep.scheduler_adapter.core import JobState, deadlines, decide, effects
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan, SchedulerEffect
from tests.wording import slips, texts

POOL = Pool("p")
JOB = JobRef(name="main", uid=JobUid("job-1"))
START = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(milliseconds=10)
TORCH = Versions(python="3.11.2", torch="2.13.0+cpu")


def spec(**changes: Any) -> JobSpec:
    """Return a job of two tasks with two ranks each."""
    fields: dict[str, Any] = {"name": "main", "entrypoint": Script(path="/train.py"), "nodes": 2, "nproc": 2}
    return JobSpec(**(fields | changes))


class World:
    """One job and everything it touches."""

    def __init__(
        self, job: JobSpec | None = None, *, nodes: Iterable[str] = ("n1", "n2", "n3"), versions: Versions = TORCH
    ) -> None:
        self.spec = job or spec()
        self.state: JobState | None = None
        self.now = START
        self.said: list[Message] = []
        self.heard: list[Message] = []
        self.pending: list[Message] = []
        self.done: set[str] = set()
        self.acts: list[str] = []
        self.nodes = dict.fromkeys(nodes, True)
        self.placed: dict[TaskUid, tuple[TaskRef, str]] = {}
        self.versions = versions
        self.silent: set[str] = set()
        """Names of tasks whose agents say nothing."""
        self.unproven: set[TaskUid] = set()
        """Tasks whose end the cluster cannot prove."""
        self.steps = True
        """Ranks complete a first step after each start."""
        self.faults = 0

    @property
    def fold(self) -> JobState:
        """The fold, once there is one."""
        assert self.state is not None
        return self.state

    def hear(self, *messages: Message) -> "World":
        """Let messages arrive now, and do what the fold then wants; what comes of it waits."""
        for message in messages:
            self.now += TICK
            decision = decide(self.state, message, self.now)
            for text in (decision.because, *(text for said in decision.says for text in texts(said))):
                assert slips(text) == [], text
            self.state = decision.state
            self.heard.append(message)
            self.said.extend(decision.says)
            self.act()
        return self

    def act(self) -> None:
        """Do what the fold wants and was not done yet."""
        for effect in effects(self.fold):
            if effect.id not in self.done:
                self._do(effect)

    def settle(self, limit: int = 500) -> "World":
        """Let everything that waits arrive, in order, until nothing is left."""
        while self.pending:
            limit -= 1
            assert limit > 0, "the world never comes to rest"
            self.hear(self.pending.pop(0))
        return self

    def crash(self) -> "World":
        """Lose everything but the fold, as a restarted service does."""
        self.state = JobState.model_validate_json(self.fold.model_dump_json())
        self.done.clear()
        self.act()
        return self

    def pass_deadline(self, kind: str, *, late_s: float = 0.0) -> "World":
        """Let the time of the first deadline of this kind come, and be said so much later."""
        due = next(each for each in deadlines(self.fold) if each.what.split("/")[0] == kind)
        self.now = max(self.now, due.due + timedelta(seconds=late_s))
        identity = EventId(derive("deadline", due.what, due.due.isoformat()))
        return self.hear(
            DeadlinePassed(
                id=identity,
                time=self.now,
                pool=POOL,
                job=JOB,
                service=Service.SCHEDULER_ADAPTER,
                scope=JOB.uid,
                what=due.what,
                due=due.due,
            )
        )

    def waits_for(self) -> set[str]:
        """Return the kinds of deadline the fold waits for."""
        return {each.what.split("/")[0] for each in deadlines(self.fold)}

    def is_(self, life: Life) -> bool:
        """Tell where the job stands."""
        return self.fold.life is life

    def names(self) -> list[str]:
        """Return the types of all messages said, in order."""
        return [type(message).__name__ for message in self.said]

    def last(self, kind: type[Message]) -> Any:
        """Return the newest message of a type that was said."""
        return next(message for message in reversed(self.said) if type(message) is kind)

    def all(self, kind: type[Message]) -> list[Any]:
        """Return every message of a type that was said."""
        return [message for message in self.said if type(message) is kind]

    def uid(self, name: str) -> TaskUid:
        """Return the uid of the current incarnation of a task."""
        return self.fold.tasks[name].ref.uid

    def create(self) -> "World":
        """Create the job."""
        return self.hear(CreateJob(id=EventId("create"), time=self.now, pool=POOL, job=JOB, spec=self.spec))

    def run(self) -> "World":
        """Create the job and let it come to run."""
        return self.create().settle()

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

    def diagnose(
        self,
        verdict: Verdict | None = None,
        *,
        attempt: int = 1,
        revision: int = 0,
        answers: bool = True,
        **changes: Any,
    ) -> FaultDiagnosed:
        """Let a fault be diagnosed; unless told otherwise both answers to it will arrive."""
        known = verdict or self.verdict()
        if attempt == 1 and revision == 0:
            self.faults += 1
        fault = EventId(f"fault-{self.faults}")
        incident = incident_id(JOB.uid, fault)
        fields: dict[str, Any] = {
            "id": EventId(derive("diagnosed", incident, attempt, revision)),
            "time": self.now,
            "pool": POOL,
            "job": JOB,
            "generation": self.fold.generation,
            "incident": incident,
            "cause": fault,
            "verdict": known,
            "attempt": attempt,
            "revision": revision,
            "faults": (fault,),
            "occurred": self.now - timedelta(seconds=0.2),
            "detected": self.now - timedelta(seconds=0.15),
        }
        event = FaultDiagnosed(**(fields | changes))
        if attempt == 1 and revision == 0:
            self.hear(
                IncidentOpened(
                    id=EventId(derive("opened", incident)),
                    time=self.now,
                    pool=POOL,
                    job=JOB,
                    incident=incident,
                    fault=fault,
                    because="first fault",
                )
            )
        self.hear(event)
        if answers:
            self.pending += [self.chosen(event), self.fenced(event)]
        return event

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

    def put_back_to_start(self) -> None:
        """Let the current generation be one that made no step yet."""
        tasks = {name: task.model_copy(update={"stepped": 0}) for name, task in self.fold.tasks.items()}
        self.state = self.fold.model_copy(update={"marks": None, "tasks": tasks})

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

    def _do(self, effect: SchedulerEffect) -> None:
        self.acts.append(effect.id)
        match effect:
            case PublishPlan():
                self.done.add(effect.id)
                if effect.announce is not None:
                    self._queue(effect.announce)
                self._obey(effect.head)
            case CreateTasks():
                self._place(effect)
            case DeleteTask():
                self.done.add(effect.id)
                self.placed.pop(effect.ref.uid, None)
                self._queue(effect.released(self.now, proven=effect.ref.uid not in self.unproven))

    def _queue(self, message: Message) -> None:
        known = {each.id for each in self.pending} | {each.id for each in self.heard}
        if message.id not in known:
            self.pending.append(message)

    def _obey(self, head: PlanHead) -> None:
        """Let every agent that can speak do what the plan asks."""
        for ref, _ in list(self.placed.values()):
            if ref.name in self.silent:
                continue
            match head.phase:
                case PlanPhase.STOP:
                    self._queue(self.applied(ref, head.generation, Applied.STOPPED))
                case PlanPhase.RUN if self.state and self.state.named(ref.uid):
                    self._queue(self.applied(ref, head.generation, Applied.STARTED))
                    if self.steps:
                        self._queue(self.first_step(ref, head))
                case PlanPhase.RUN:
                    pass
                case PlanPhase.END:
                    self._queue(self.applied(ref, head.generation, Applied.ENDED))

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

    def _place(self, effect: CreateTasks) -> None:
        taken = {node for _, node in self.placed.values()}
        wanted = [launch for launch in effect.launches if launch.task.uid not in self.placed]
        for banned in (set(effect.avoid) | set(effect.rather_not), set(effect.avoid)):
            free = [node for node, ready in self.nodes.items() if ready and node not in taken and node not in banned]
            if len(free) >= len(wanted):
                break
        else:
            because = f"needs {counted(len(wanted), 'node')}, {len(free)} free"
            identity = EventId(derive("waiting", effect.id, because))
            self._queue(JobWaiting(id=identity, time=self.now, pool=POOL, job=JOB, because=because))
            return
        self.done.add(effect.id)
        for launch, node in zip(wanted, free, strict=False):
            self.placed[launch.task.uid] = (launch.task, node)
        for launch in effect.launches:
            if launch.task.name not in self.silent and launch.task.uid in self.placed:
                self._queue(self.joined(launch.task, self.placed[launch.task.uid][1]))


def _first_offers(ref: TaskRef) -> tuple[int, ...]:
    """Return the ports that a task offers until it has run."""
    return 4000 + ref.index, 5000
