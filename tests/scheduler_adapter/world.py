"""A job's surroundings in memory: agents, cluster, isolator and checkpoint-manager that answer as the real ones do.

The scheduler-adapter's core is driven message by message; what it wants done is done here, and what comes of it waits
in ``pending`` until the test lets it arrive.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from keepstep.contracts.events import (
    DeadlinePassed,
    FaultDiagnosed,
    IncidentOpened,
    JobWaiting,
    Verdict,
    Versions,
)
from keepstep.contracts.ids import EventId, TaskUid, derive, incident_id
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob, PlanHead
from keepstep.contracts.taxonomy import Applied, Category, PlanPhase, Service
from keepstep.contracts.topology import Culprit, JobSpec
from keepstep.core.sentences import counted
from keepstep.scheduler_adapter.core import JobState, deadlines, decide, effects
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan, SchedulerEffect
from tests.scheduler_adapter.voices import JOB, POOL, TICK, TORCH, Voices, spec
from tests.wording import slips, texts


class World(Voices):
    """One job and everything it touches."""

    def __init__(
        self, job: JobSpec | None = None, *, nodes: Iterable[str] = ("n1", "n2", "n3"), versions: Versions = TORCH
    ) -> None:
        super().__init__(job or spec(), nodes=nodes, versions=versions)
        self.said: list[Message] = []
        self.heard: list[Message] = []
        self.pending: list[Message] = []
        self.done: set[str] = set()
        self.acts: list[str] = []
        self.silent: set[str] = set()
        """Names of tasks whose agents say nothing."""
        self.unproven: set[TaskUid] = set()
        """Tasks whose end the cluster cannot prove."""
        self.steps = True
        """Ranks complete a first step after each start."""
        self.faults = 0

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

    def create(self) -> "World":
        """Create the job."""
        return self.hear(CreateJob(id=EventId("create"), time=self.now, pool=POOL, job=JOB, spec=self.spec))

    def run(self) -> "World":
        """Create the job and let it come to run."""
        return self.create().settle()

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

    def lose_node(self, name: str = "worker-1") -> "World":
        """Lose the node of a task, and have it diagnosed as such."""
        task = self.fold.tasks[name]
        culprit = Culprit(node=task.node, task=task.ref.uid)
        self.hear(self.lose(name))
        self.diagnose(self.verdict(category=Category.NODE_HARDWARE, culprit=culprit, isolate=True))
        return self

    def put_back_to_start(self) -> None:
        """Let the current generation be one that made no step yet."""
        tasks = {name: task.model_copy(update={"stepped": 0}) for name, task in self.fold.tasks.items()}
        self.state = self.fold.model_copy(update={"marks": None, "tasks": tasks})

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
