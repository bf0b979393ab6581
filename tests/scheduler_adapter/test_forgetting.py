"""What is kept of a job that is gone, and for how long."""

from datetime import timedelta

from keepstep.contracts.ids import EventId
from keepstep.contracts.orders import StopJob
from keepstep.scheduler_adapter.core import deadlines, decide, over
from keepstep.scheduler_adapter.core.forgetting import KEPT
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import effects
from tests.scheduler_adapter.voices import JOB, POOL
from tests.scheduler_adapter.world import World


def test_a_job_that_is_gone_keeps_its_last_plan_for_a_day_and_is_then_forgotten() -> None:
    world = World().run()
    world.hear(StopJob(id=EventId("stop"), time=world.now, pool=POOL, job=JOB)).settle()
    assert world.is_(Life.ENDED)
    assert not list(effects(world.fold))
    gone = world.fold.since
    world.pass_deadline("remove")
    assert KEPT <= world.now - gone < KEPT + timedelta(seconds=1)
    assert [effect.id for effect in effects(world.fold)] == [f"remove/{JOB.uid}"]
    assert not over(world.fold)
    world.pass_deadline("forget")
    assert over(world.fold)
    assert not list(effects(world.fold))
    assert not list(deadlines(world.fold))


def test_a_stray_message_of_a_job_that_never_was_is_forgotten_too() -> None:
    stray = StopJob(id=EventId("stop"), time=World().now, pool=POOL, job=JOB)
    (deadline,) = deadlines(decide(None, stray, stray.time).state)
    assert deadline.what == "forget"
