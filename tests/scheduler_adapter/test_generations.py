"""Every plan has a generation of its own: whoever counts restarts by generation counts each once."""

from keepstep.contracts.events import JobResumed, RanksStarted, RecoveryFailed, RecoveryPlanned, RecoveryStarted
from keepstep.contracts.ids import EventId
from keepstep.contracts.taxonomy import Applied, Level, LossCause
from keepstep.contracts.topology import Culprit
from tests.scheduler_adapter.world import World


def started(world: World) -> list[tuple[int, int]]:
    """Return what every RecoveryStarted says of generations, each id once."""
    heard = {message.id: message for message in world.heard if isinstance(message, RecoveryStarted)}
    return [(each.from_generation, each.to_generation) for each in heard.values()]


def silent_until_given_up(*also_silent_then: str) -> World:
    """Let one task not answer the stop plan until it is given up; the others answer, and some fall silent then."""
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    world.silent.add("worker-1")
    world.diagnose()
    world.settle()
    world.silent = set(also_silent_then)
    return world.pass_deadline("stop")


def test_a_plan_after_one_that_was_given_up_takes_the_next_generation() -> None:
    world = silent_until_given_up().settle()
    assert started(world) == [(1, 2), (1, 3)]
    assert [(each.level, each.to_generation) for each in world.all(RecoveryPlanned)] == [
        (Level.IN_PLACE, 2),
        (Level.POD, 3),
    ]
    assert [each.generation for each in world.all(RanksStarted)] == [3]
    assert world.fold.generation == 3


def test_between_two_starts_stands_why_the_first_was_given_up() -> None:
    world = silent_until_given_up().settle()
    failed = world.last(RecoveryFailed)
    starts = [message.id for message in world.heard if isinstance(message, RecoveryStarted)]
    planned = [each for each in world.said if isinstance(each, RecoveryFailed | RecoveryPlanned)]
    assert [type(each) for each in planned] == [RecoveryPlanned, RecoveryFailed, RecoveryPlanned]
    assert (failed.generation, len(set(starts))) == (2, 2)


def test_a_task_that_confirmed_an_earlier_stop_and_never_ran_since_need_not_confirm_again() -> None:
    world = silent_until_given_up("worker-0").settle()
    confirmed = world.fold.tasks["worker-0"]
    assert (confirmed.stopped, confirmed.at_rest, world.fold.generation) == (2, False, 3)
    assert confirmed.ran == 3, "its ranks were given out though its agent was silent meanwhile"


def test_a_task_that_may_have_ran_since_it_confirmed_has_to_confirm_again() -> None:
    world = silent_until_given_up().settle()
    world.silent.add("worker-0")
    world.diagnose()
    world.settle()
    assert world.fold.generation == 4
    assert not world.fold.tasks["worker-0"].at_rest
    assert len(world.all(JobResumed)) == 1


def test_a_loss_before_the_first_plan_is_known_to_be_out_makes_two_starts_and_not_one_twice() -> None:
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    event = world.diagnose(world.verdict(culprit=Culprit(rank=0)), answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    world.hear(world.lose("worker-1")).settle()
    assert started(world) == [(1, 2), (1, 3)]
    assert world.last(JobResumed).level is Level.POD
    assert world.fold.generation == 3


def test_a_second_loss_under_a_pod_plan_is_planned_again_at_the_same_level() -> None:
    world = World(nodes=["n1", "n2", "n3", "n4", "n5"])
    world.spec = world.spec.model_copy(update={"nodes": 3})
    world.run()
    uid = world.uid("worker-1")
    world.hear(world.lose("worker-1", LossCause.DELETED))
    world.silent.add("worker-2")
    world.diagnose(world.verdict(culprit=Culprit(task=uid)))
    world.settle()
    world.silent.clear()
    world.hear(world.lose("worker-2")).settle()
    assert [(each.level, each.to_generation) for each in world.all(RecoveryPlanned)] == [(Level.POD, 2), (Level.POD, 3)]
    assert [each.level for each in world.all(RecoveryFailed)] == [Level.POD]
    assert world.last(JobResumed).level is Level.POD
    assert [task.incarnation for task in world.fold.tasks.values()] == [1, 2, 2]


def test_a_late_confirmation_of_the_plan_before_counts_for_the_plan_after() -> None:
    world = silent_until_given_up("worker-0")
    ref = world.fold.tasks["worker-0"].ref
    tasks = world.fold.tasks | {"worker-0": world.fold.tasks["worker-0"].model_copy(update={"stopped": 0})}
    world.state = world.fold.model_copy(update={"tasks": tasks})
    assert world.settle().fold.tasks["worker-0"].ran == 1
    late = world.applied(ref, 2, Applied.STOPPED).model_copy(update={"id": EventId("late")})
    world.hear(late).settle()
    assert world.fold.tasks["worker-0"].ran == 3
