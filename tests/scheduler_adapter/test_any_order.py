"""Any interleaving, repetition and crash leads to the same end and to the same things done."""

from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from keepstep.contracts.events import IncidentClosed, JobResumed, RecoveryPlanned
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Category, LossCause
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World

NODES = ("n1", "n2", "n3", "n4")


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


class AnyOrder(RuleBasedStateMachine):
    """Plays one scenario in an order of hypothesis's choosing, with repeats, forgotten ids and crashes."""

    @initialize(scenario=st.sampled_from(SCENARIOS))
    def start(self, scenario: Callable[[World], None]) -> None:
        self.expected = finish(begin(scenario))
        self.world = begin(scenario)

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

    def teardown(self) -> None:
        if hasattr(self, "world"):
            assert finish(self.world) == self.expected


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
