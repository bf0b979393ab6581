"""A task lost without proof is given out again only when its own fence must have stopped it."""

from keepstep.contracts.events import (
    FaultDetected,
    JobResumed,
    RecoveryPlanned,
    SilenceEvidence,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.taxonomy import Level, LossCause, Phase
from keepstep.contracts.topology import Culprit
from tests.scheduler_adapter.voices import JOB, POOL, spec
from tests.scheduler_adapter.world import World


def test_a_task_lost_without_proof_is_given_out_again_only_after_its_own_fence() -> None:
    world = World().run()
    task = world.fold.tasks["worker-1"]
    world.silent.add("worker-1")
    world.hear(world.lose("worker-1", LossCause.UNKNOWN, proven=False))
    world.diagnose(world.verdict(culprit=Culprit(task=task.ref.uid)))
    world.silent.clear()
    world.unproven.add(task.ref.uid)
    world.settle()
    world.pass_deadline("stop").settle()
    assert not world.all(JobResumed)
    world.pass_deadline("fence").settle()
    fence = world.spec.policy.trainer.self_fence_after + world.spec.policy.recovery.reissue_margin
    assert world.now - world.last(RecoveryPlanned).time > fence
    assert world.last(JobResumed).level is Level.POD


def test_a_task_that_fell_silent_while_it_evaluated_is_given_out_again_after_the_limit_of_that() -> None:
    world = World().run()
    task = world.fold.tasks["worker-1"]
    silence = SilenceEvidence(silent_s=11, phase=Phase.EVALUATION)
    world.silent.add("worker-1")
    world.hear(
        FaultDetected(
            id=EventId("silence"),
            time=world.now,
            pool=POOL,
            job=JOB,
            task=task.ref.uid,
            subject_name="task worker-1",
            occurred=world.now,
            evidence=silence,
            because="silent",
        )
    )
    world.diagnose(world.verdict(culprit=Culprit(task=task.ref.uid)))
    world.unproven.add(task.ref.uid)
    world.settle()
    world.pass_deadline("stop").settle().pass_deadline("stop").settle()
    stopped = world.now
    world.pass_deadline("fence").settle()
    assert world.now - stopped > world.spec.policy.detection.limit_of(Phase.EVALUATION)


def test_a_task_lost_before_its_first_step_is_given_out_again_only_on_proof() -> None:
    world = World()
    world.steps = False
    world.run()
    uid = world.uid("worker-1")
    world.silent.add("worker-1")
    world.hear(world.lose("worker-1", LossCause.UNKNOWN, proven=False))
    world.diagnose(world.verdict(culprit=Culprit(task=uid)))
    world.silent.clear()
    world.unproven.add(uid)
    world.settle()
    world.pass_deadline("stop").settle()
    assert "fence" not in world.waits_for()
    world.hear(world.lost_for_good(uid)).settle()
    assert world.fold.generation == 2


def test_a_single_task_is_given_out_again_only_on_proof() -> None:
    world = World(spec(nodes=1)).run()
    uid = world.uid("worker-0")
    world.hear(world.lose("worker-0", LossCause.UNKNOWN, proven=False))
    world.diagnose(world.verdict(culprit=Culprit(task=uid)))
    world.unproven.add(uid)
    world.settle().pass_deadline("stop").settle()
    assert "fence" not in world.waits_for()
    assert not world.all(JobResumed)
    world.hear(world.lost_for_good(uid)).settle()
    assert world.last(JobResumed).level is Level.JOB
