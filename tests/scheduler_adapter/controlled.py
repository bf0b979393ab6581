"""A job on a cluster with controllers, and what happens to its tasks."""

from typing import Any

from keepstep.contracts.events import Finish, JobFinished, JobFound, LevelRefusal
from keepstep.contracts.ids import EventId, derive
from keepstep.contracts.taxonomy import Category, Level, LossCause
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.restarts import EndJob, RestartTasks
from keepstep.scheduler_adapter.core.wants import DeleteTask, SchedulerEffect
from tests.scheduler_adapter.voices import JOB, POOL
from tests.scheduler_adapter.world import World

ALL = tuple(Level)


KIND = "PyTorchJob default/main"


NEVER = LevelRefusal(level=Level.POD, because="restartPolicy Never fails the whole job", remedy="take OnFailure")


class Controlled(World):
    """A job on a cluster with controllers: restarts are asked for, and their pods go when they are told to."""

    restarts: list[RestartTasks]
    ends: list[EndJob]
    refuses: frozenset[Level] = frozenset()

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.restarts, self.ends = [], []

    def found(self, *levels: Level, refusals: tuple[LevelRefusal, ...] = ()) -> JobFound:
        identity = EventId(derive("found", *levels, *(each.because for each in refusals)))
        fields: dict[str, Any] = {"id": identity, "time": self.now, "pool": POOL, "job": JOB}
        return JobFound(**fields, spec=self.spec, kind=KIND, levels=levels or ALL, refusals=refusals)

    def find(self, *levels: Level, refusals: tuple[LevelRefusal, ...] = ()) -> "Controlled":
        self.hear(self.found(*levels, refusals=refusals))
        self.settle()
        return self

    def finished(self, how: Finish, because: str = "backoffLimit reached") -> JobFinished:
        return JobFinished(id=EventId(f"end-{how}"), time=self.now, pool=POOL, job=JOB, how=how, because=because)

    def _do(self, effect: SchedulerEffect) -> None:
        match effect:
            case RestartTasks():
                self.done.add(effect.id)
                self.acts.append(effect.id)
                self.restarts.append(effect)
                if effect.level in self.refuses:
                    self._queue(effect.failed(self.now, "its budget is used up"))
                    return
                for each in effect.lost:
                    self._leave(effect, each.ref.uid)
            case EndJob():
                self.done.add(effect.id)
                self.ends.append(effect)
                for each in effect.tasks:
                    self._leave(effect, each.ref.uid)
            case DeleteTask():
                raise AssertionError("a pod of a controller is not deleted alone")
            case other:
                super()._do(other)

    def _leave(self, effect: RestartTasks | EndJob, task: Any) -> None:
        self.placed.pop(task, None)
        self._queue(*effect.released({task: task not in self.unproven}, self.now))


def gone(world: World, name: str = "worker-1") -> Any:
    """Return the verdict that a task was deleted."""
    return world.verdict(category=Category.DELETED, culprit=Culprit(task=world.uid(name)))


def deleted(world: Controlled, name: str = "worker-1") -> Controlled:
    """Let somebody delete the pod of a task, and the recovery run."""
    verdict = gone(world, name)
    world.hear(world.lose(name, LossCause.DELETED))
    world.diagnose(verdict)
    world.settle()
    return world


def broken(world: Controlled, name: str = "worker-1") -> Controlled:
    """Let the device of a task break whose pod lives, and the recovery begin."""
    node = world.fold.tasks[name].node
    culprit = Culprit(node=node, task=world.uid(name))
    world.diagnose(world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True))
    return world
