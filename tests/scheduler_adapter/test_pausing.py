"""People and the pool hold a job: faults are recorded, and acted on when it is freed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from keepstep.adapters.local_placement import Room, place
from keepstep.contracts.events import (
    ActionsPaused,
    FaultDiagnosed,
    IncidentClosed,
    JobFreed,
    JobHeld,
    JobResumed,
    RecoveryPlanned,
)
from keepstep.contracts.ids import EventId, NodeName, TaskUid
from keepstep.contracts.message import POOL_KEY
from keepstep.contracts.orders import PauseActions, ResumeActions
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import TaskLaunch, TaskRef
from keepstep.ports.cluster import CordonMark, NodeStatus
from keepstep.ports.errors import NoRoom
from keepstep.scheduler_adapter.core import decide, effects, fold_key
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.recovery import Joining
from tests.scheduler_adapter.voices import JOB, POOL
from tests.scheduler_adapter.world import World


def test_a_paused_job_records_faults_and_acts_when_resumed() -> None:
    world = World().run()
    world.hear(PauseActions(id=EventId("pause"), time=world.now, pool=POOL, job=JOB))
    world.diagnose()
    world.settle()
    assert world.fold.recovery is not None
    assert isinstance(world.fold.recovery.stage, Joining)
    assert world.all(RecoveryPlanned) == []
    world.hear(ResumeActions(id=EventId("resume"), time=world.now, pool=POOL, job=JOB)).settle()
    assert world.last(JobResumed).level is Level.IN_PLACE


def paused_on_a_fault(world: World) -> FaultDiagnosed:
    """Let a fault be diagnosed and answered with step 20 while people hold the job, and step 90 be committed then."""
    world.run()
    world.hear(PauseActions(id=EventId("pause"), time=world.now, pool=POOL, job=JOB))
    event = world.diagnose()
    world.settle()
    world.hear(world.committed(90))
    return event


def test_a_checkpoint_that_was_committed_during_the_pause_is_resumed_from() -> None:
    """The one that was chosen before it was taken, and what ran during the pause was lost."""
    world = World()
    event = paused_on_a_fault(world)
    world.hear(ResumeActions(id=EventId("resume"), time=world.now, pool=POOL, job=JOB))
    assert world.all(RecoveryPlanned) == []
    world.hear(world.chosen(event, step=90).model_copy(update={"id": EventId("chosen again")})).settle()
    assert len(world.all(JobResumed)) == 1
    assert world.fold.plan is not None
    assert (world.fold.plan.resume_step, world.fold.plan.resume_path) == (90, "/ckpt/step-90")


def test_without_another_answer_the_newest_committed_one_is_taken() -> None:
    world = World()
    paused_on_a_fault(world)
    world.hear(ResumeActions(id=EventId("resume"), time=world.now, pool=POOL, job=JOB))
    world.pass_deadline("join")
    world.settle()
    assert world.fold.plan is not None
    assert world.fold.plan.resume_step == 90


@pytest.mark.parametrize("step", [10, 20])
def test_where_nothing_newer_was_committed_a_resumed_job_waits_for_no_other_answer(step: int) -> None:
    world = World().run()
    world.hear(JobHeld(id=EventId("held"), time=world.now, pool=POOL, job=JOB))
    world.diagnose()
    world.settle()
    world.hear(world.committed(step), JobFreed(id=EventId("freed"), time=world.now, pool=POOL, job=JOB)).settle()
    assert len(world.all(JobResumed)) == 1
    assert world.fold.plan is not None
    assert world.fold.plan.resume_step == 20


def test_a_wait_for_people_is_booked_as_theirs_and_not_as_the_isolators() -> None:
    world = World().run()
    world.hear(PauseActions(id=EventId("pause"), time=world.now, pool=POOL, job=JOB))
    world.diagnose()
    world.settle()
    world.now += timedelta(minutes=10)
    world.hear(ResumeActions(id=EventId("resume"), time=world.now, pool=POOL, job=JOB)).settle()
    accounts = world.last(IncidentClosed).accounts
    assert accounts is not None
    assert accounts.people_s >= 600
    assert accounts.isolate_s < 60


def test_a_job_that_the_pool_holds_acts_when_it_is_freed_unless_it_is_paused_itself() -> None:
    world = World().run()
    about = {"time": world.now, "pool": POOL, "job": JOB}
    world.hear(JobHeld(id=EventId("held"), **about), PauseActions(id=EventId("pause"), **about))
    world.diagnose()
    world.settle()
    world.hear(JobFreed(id=EventId("freed"), **about)).settle()
    assert world.all(RecoveryPlanned) == []
    world.hear(ResumeActions(id=EventId("resume"), **about)).settle()
    assert world.last(JobResumed).level is Level.IN_PLACE


def test_the_pools_pause_is_said_once_and_reaches_every_job_that_does_not_know_it() -> None:
    world = World().run()
    order = PauseActions(id=EventId("pause"), time=world.now, pool=POOL)
    assert fold_key(order) == POOL_KEY
    first = decide(None, order, world.now)
    again = decide(first.state, order.model_copy(update={"id": EventId("again")}), world.now)
    assert [(type(said), said.job) for said in (*first.says, *again.says)] == [(ActionsPaused, None)]
    (keep,) = effects(first.state)
    assert isinstance(keep, KeepHeld)
    news = list(keep.news([first.state, world.fold], world.now))
    assert [(type(said), said.job) for said in news] == [(JobHeld, JOB)]
    world.hear(*news)
    assert not list(keep.news([world.fold], world.now))
    freed = decide(first.state, ResumeActions(id=EventId("resume"), time=world.now, pool=POOL), world.now)
    (keep,) = effects(freed.state)
    assert isinstance(keep, KeepHeld)
    assert [type(said) for said in keep.news([world.fold], world.now)] == [JobFreed]


@pytest.mark.parametrize("planned", [False, True])
def test_a_node_that_people_isolate_during_a_pause_gets_no_new_task(planned: bool) -> None:
    """A plan names no node: where a new task goes is chosen when it is placed, by the cordons of that moment."""
    world = World(nodes=("n1", "n2", "n3", "n4")).run()
    if planned:  # and nowhere to go yet: a task that stands somewhere already is left there by a cordon
        world.nodes |= {"n3": False, "n4": False}
        world.lose_node()
        while not world.all(RecoveryPlanned):
            world.hear(world.pending.pop(0))
    world.hear(PauseActions(id=EventId("pause"), time=world.now, pool=POOL, job=JOB))
    if not planned:
        world.lose_node()
        world.hear(*(world.pending.pop(0) for _ in tuple(world.pending)))
    world.nodes |= {"n3": False, "n4": True}
    world.hear(ResumeActions(id=EventId("resume"), time=world.now, pool=POOL, job=JOB)).settle()
    assert len(world.all(JobResumed)) == 1
    assert {task.node for task in world.fold.tasks.values()} == {"n1", "n4"}


def test_the_local_cluster_places_by_the_cordons_of_the_moment_and_not_of_the_plan() -> None:
    mark = CordonMark(owner="lee", reason="burnt", at=World().now)
    task = TaskRef(name="worker-1", uid=TaskUid("w-1"), index=1)
    launch = TaskLaunch(pool=POOL, job=JOB, task=task, spec=World().spec)
    free = [Room(NodeStatus(name=NodeName(name), ready=True), slots=1) for name in ("n3", "n4")]
    assert place([launch], free, avoid=frozenset()) == [(launch, "n3")]
    marked = [replace(free[0], node=replace(free[0].node, mark=mark)), free[1]]
    assert place([launch], marked, avoid=frozenset()) == [(launch, "n4")]
    with pytest.raises(NoRoom, match="n3 is cordoned by lee"):
        place([launch], marked[:1], avoid=frozenset())
