"""Any interleaving, repetition and crash leads to the same end and to the same things done."""

from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from keepstep.contracts.events import IncidentClosed, JobResumed, RanksStarted, RecoveryPlanned, RecoveryStarted
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Category, Level, LossCause
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World

NODES = ("n1", "n2", "n3", "n4")
NAMES = ("worker-0", "worker-1")


def kill(world: World) -> None:
    world.diagnose()


def kill_rank_0(world: World) -> None:
    world.diagnose(world.verdict(culprit=Culprit(rank=0)))


def lose_node(world: World) -> None:
    task = world.fold.tasks["worker-1"]
    world.hear(world.lose("worker-1"))
    culprit = Culprit(node=task.node, task=task.ref.uid)
    world.diagnose(world.verdict(category=Category.NODE_HARDWARE, culprit=culprit, isolate=True))


def delete_master(world: World) -> None:
    uid = world.uid("worker-0")
    world.hear(world.lose("worker-0", LossCause.DELETED))
    world.diagnose(world.verdict(category=Category.DELETED, culprit=Culprit(task=uid)))


def fall_silent(world: World) -> None:
    world.silent.add("worker-1")
    world.diagnose()


def break_device(world: World) -> None:
    culprit = Culprit(node=NodeName("n2"), device="gpu1")
    world.diagnose(world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True))


def raise_once(world: World) -> None:
    world.diagnose(world.verdict(category=Category.USER_CODE, signature="KeyError"))


def fail_at_once(world: World) -> None:
    verdict = world.verdict(category=Category.USER_CODE, signature="KeyError", retriable=False)
    world.diagnose(verdict)


SCENARIOS: list[Callable[[World], None]] = [
    kill,
    kill_rank_0,
    lose_node,
    delete_master,
    fall_silent,
    break_device,
    raise_once,
    fail_at_once,
]


def begin(scenario: Callable[[World], None]) -> World:
    world = World(nodes=NODES).run()
    scenario(world)
    return world


def finish(world: World) -> dict[str, object]:
    """Let everything come to its end and return what must not depend on the way there."""
    world.settle()
    if world.silent:
        world.silent.clear()
        world.pass_deadline("stop").settle()
    if not world.is_(Life.ENDED):
        world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.is_(Life.ENDED)
    return {
        "generation": world.fold.generation,
        "avoid": world.fold.avoid,
        "spent": world.fold.ledger.total,
        "done": sorted(set(world.acts)),
        "placed": world.placed,
        "resumed": [(each.level, each.step, each.lost_steps) for each in world.all(JobResumed)],
        "closed": [(each.incident, each.outcome, each.levels, each.attempts) for each in world.all(IncidentClosed)],
        "planned": [(each.id, each.level, each.to_generation, each.replace) for each in world.all(RecoveryPlanned)],
        "succeeded": world.names().count("JobSucceeded"),
        "started": world.names().count("JobStarted"),
    }


def expect_generations_of_their_own(world: World) -> None:
    """No two plans, starts of a recovery or starts of all ranks are of one generation."""
    plans = {each.id: each.to_generation for each in world.all(RecoveryPlanned) if each.level is not Level.WAIT}
    starts = {each.id: each.to_generation for each in world.heard if isinstance(each, RecoveryStarted)}
    ranks = {each.id: each.generation for each in world.all(RanksStarted)}
    for said in (plans, starts, ranks):
        assert len(set(said.values())) == len(said), said


class Played(RuleBasedStateMachine):
    """Plays one scenario in an order of hypothesis's choosing, with repeats, forgotten ids and crashes."""

    world: World

    @precondition(lambda self: bool(self.world.pending))
    @rule(choice=st.integers(0, 10))
    def let_one_arrive(self, choice: int) -> None:
        self.world.hear(self.world.pending.pop(choice % len(self.world.pending)))

    @rule(choice=st.integers(0, 100))
    def repeat_one(self, choice: int) -> None:
        self.world.hear(self.world.heard[choice % len(self.world.heard)])

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @rule()
    def outlive_the_memory_of_ids(self) -> None:
        self.world.state = self.world.fold.model_copy(update={"recent": ()})


class AnyOrder(Played):
    """One cause: the end does not depend on the order."""

    @initialize(scenario=st.sampled_from(SCENARIOS))
    def start(self, scenario: Callable[[World], None]) -> None:
        self.expected = finish(begin(scenario))
        self.world = begin(scenario)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            assert finish(self.world) == self.expected
            expect_generations_of_their_own(self.world)


class AnyMoment(Played):
    """Another task is lost at any moment of a recovery: which levels that takes depends on when, what follows not."""

    @initialize(scenario=st.sampled_from([kill_rank_0, break_device, fall_silent]), name=st.sampled_from(NAMES))
    def start(self, scenario: Callable[[World], None], name: str) -> None:
        self.world = begin(scenario)
        self.lost = self.world.uid(name)
        self.world.pending.append(self.world.lose(name, LossCause.DELETED))

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        world.settle()
        if world.silent and "stop" in world.waits_for():
            world.silent.clear()
            world.pass_deadline("stop").settle()
        if world.fold.named(self.lost) is not None:
            culprit = Culprit(task=self.lost)
            attempt = world.fold.recovery.attempt + 1 if world.fold.recovery else 1
            world.diagnose(world.verdict(category=Category.DELETED, culprit=culprit), attempt=attempt)
        world.settle()
        assert world.is_(Life.RUNNING)
        assert len(world.all(IncidentClosed)) == len({each.incident for each in world.all(IncidentClosed)})
        expect_generations_of_their_own(world)


BOUNDS = settings(max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = BOUNDS
TestAnyMoment = AnyMoment.TestCase
TestAnyMoment.settings = BOUNDS
