"""No room for a replacement: the job waits with its reason, takes the next level, or fails."""

from keepstep.contracts.events import (
    IncidentClosed,
    JobFailed,
    JobResumed,
    JobWaiting,
    RecoveryFailed,
    RecoveryPlanned,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import JOB, POOL, spec
from tests.scheduler_adapter.world import World


def policy(**recovery: object) -> Policy:
    return Policy(recovery=RecoveryPolicy.model_validate(recovery))


def test_without_a_spare_the_job_waits_with_its_reason_until_a_node_returns() -> None:
    world = World(nodes=["n1", "n2"]).run().lose_node().settle()
    assert world.fold.shortage is not None
    assert world.fold.shortage.because == "needs 1 node, 0 free"
    assert "level" not in world.waits_for()
    world.nodes["n2"] = True
    world.act()
    world.settle()
    assert world.last(JobResumed).level is Level.POD
    assert world.fold.shortage is None


def test_a_shortage_past_its_limit_takes_the_next_level() -> None:
    job = spec(policy=policy(pending_limit=60))
    world = World(job, nodes=["n1", "n2"]).run().lose_node().settle()
    world.pass_deadline("pending").settle()
    failed, planned = world.last(RecoveryFailed), world.last(RecoveryPlanned)
    assert (failed.level, failed.because) == (Level.POD, "no room: needs 1 node, 0 free")
    assert planned.level is Level.JOB
    assert "not pod: it failed in this incident" in planned.because
    world.nodes["n2"] = True
    world.act()
    assert world.settle().last(IncidentClosed).levels == (Level.POD, Level.JOB)


def test_a_shortage_past_its_limit_at_every_level_is_held() -> None:
    job = spec(policy=policy(pending_limit=60))
    world = World(job, nodes=["n1", "n2"]).run().lose_node().settle()
    world.pass_deadline("pending").settle()
    world.pass_deadline("pending").settle()
    assert [failed.level for failed in world.all(RecoveryFailed)] == [Level.POD]
    assert not {"pending", "level"} & world.waits_for()
    world.nodes["n2"] = True
    world.act()
    assert world.settle().last(JobResumed).level is Level.JOB


def test_a_job_that_never_goes_beyond_pod_waits_on() -> None:
    job = spec(policy=policy(pending_limit=60, levels=("in-place", "pod")))
    world = World(job, nodes=["n1", "n2"]).run().lose_node().settle()
    world.pass_deadline("pending").settle()
    assert world.all(RecoveryFailed) == []
    assert not {"pending", "level"} & world.waits_for()
    world.nodes["n2"] = True
    world.act()
    assert world.settle().last(JobResumed).level is Level.POD


def test_another_reason_for_waiting_does_not_start_the_limit_of_a_held_job_again() -> None:
    job = spec(policy=policy(pending_limit=60, levels=("in-place", "pod")))
    world = World(job, nodes=["n1", "n2"]).run().lose_node().settle()
    world.pass_deadline("pending").settle()
    because = "pod j-1 waits: ImagePullBackOff"
    world.hear(JobWaiting(id=EventId("other"), time=world.now, pool=POOL, job=JOB, because=because)).settle()
    assert world.fold.shortage is not None
    assert (world.fold.shortage.because, world.waits_for() & {"pending", "level"}) == (because, set())


def test_a_job_told_to_fail_without_room_fails() -> None:
    job = spec(policy=policy(pending="fail", levels=("in-place", "pod")))
    world = World(job, nodes=["n1", "n2"]).run().lose_node().settle()
    world.pass_deadline("pending").settle()
    assert world.is_(Life.ENDED)
    assert world.last(IncidentClosed).outcome is Outcome.FAILED
    assert "pod was given up: no room: needs 1 node, 0 free" in world.last(JobFailed).because


def test_a_task_lost_while_another_still_has_no_room_is_replaced_before_the_first_start() -> None:
    world = World().create()
    world.silent.add("worker-0")
    world.pending = [message for message in world.pending if message.task != world.uid("worker-0")]
    world.settle()
    assert world.is_(Life.PLACING)
    task = world.fold.tasks["worker-1"]
    world.hear(world.lose("worker-1"))
    culprit = Culprit(node=task.node, task=task.ref.uid)
    world.diagnose(world.verdict(category=Category.NODE_HARDWARE, culprit=culprit, isolate=True))
    world.settle()
    world.silent.clear()
    master = world.fold.tasks["worker-0"].ref
    world.hear(world.joined(master, "n1")).settle()
    assert world.is_(Life.RUNNING)
    assert world.fold.generation == 2
    assert world.fold.tasks["worker-1"].node == "n3"
