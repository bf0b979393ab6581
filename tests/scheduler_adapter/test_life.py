"""How jobs begin and end without faults, and how those without marks are judged."""

from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.contracts.events import (
    CheckpointCommitted,
    DeadlinePassed,
    IncidentClosed,
    IncidentOpened,
    JobAccepted,
    JobFailed,
    JobResumed,
    JobStarted,
    RecoveryPlanned,
    TaskLost,
    TaskReleased,
    Versions,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.orders import CreateJob, DrainNode, StopJob
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome, Service
from keepstep.contracts.topology import LARGEST_SPEC
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.scheduler_adapter.core import deadlines, decide, over
from keepstep.scheduler_adapter.core.forgetting import KEPT
from keepstep.scheduler_adapter.core.losses import missing, observe
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks, effects
from tests.scheduler_adapter.world import JOB, POOL, World, spec

NO_TORCH = Versions(python="3.11.2")


def test_a_job_created_twice_is_created_once() -> None:
    world = World().create()
    world.hear(CreateJob(id=EventId("again"), time=world.now, pool=POOL, job=JOB, spec=spec(nodes=1))).settle()
    assert len(world.all(JobAccepted)) == 1
    assert len(world.fold.tasks) == 2


@pytest.mark.parametrize(
    ("job", "field", "remedy"),
    [
        ({"resume_arg": "--resume={path}"}, "resume_arg", "set checkpoint_dir"),
        ({"policy": {"recovery": {"levels": []}}}, "policy.recovery.levels", "name a level"),
        ({"policy": {"trainer": {"stop_grace": 60}}}, "policy.recovery.stop_deadline", "make it longer"),
        ({"policy": {"detection": {"blind_share": 0.5}}}, "blind_share", "KEEPSTEP_DETECTOR_BLIND_SHARE"),
        ({"policy": {"detection": {"blind_minimum": 2}}}, "blind_minimum", "KEEPSTEP_DETECTOR"),
        ({"env": {"A": "x" * LARGEST_SPEC}}, "specification", "shorten env"),
    ],
)
def test_a_field_that_cannot_be_obeyed_is_named_with_its_remedy(
    job: dict[str, object], field: str, remedy: str
) -> None:
    world = World(spec(**job)).run()
    failed = world.last(JobFailed)
    assert failed.category is Category.USER_CONFIG
    assert field in failed.because
    assert remedy in failed.because
    assert world.acts == []
    assert world.fold.spec is None, "what may be too large for the store is not kept"


def test_tasks_are_not_given_the_addresses_of_those_who_are_told() -> None:
    told = {"notification": {"routes": [{"sink": "https://chat.example/hook?token=s3cret"}]}}
    world = World(spec(policy=told)).create()
    (creation,) = [effect for effect in effects(world.fold) if isinstance(effect, CreateTasks)]
    assert "s3cret" not in creation.model_dump_json()
    assert "s3cret" in world.spec.model_dump_json()


def test_a_new_run_on_an_old_folder_resumes_from_its_newest_step(tmp_path: Path) -> None:
    world = World(spec(checkpoint_dir=str(tmp_path))).run()
    assert world.is_(Life.PLACING)
    for step in (10, 30, 20):
        world.hear(
            CheckpointCommitted(
                id=EventId(f"c{step}"), time=world.now, pool=POOL, job=JOB, step=step, path=f"{step}", files=()
            )
        )
    world.pass_deadline("look").settle()
    assert world.fold.plan is not None
    assert world.fold.plan.resume_step == 30
    assert len(world.all(JobStarted)) == 1


def test_a_job_without_room_says_why_and_starts_when_a_node_comes() -> None:
    world = World(nodes=["n1"]).run()
    assert world.fold.shortage is not None
    assert "launch" not in world.waits_for()
    world.nodes["n2"] = True
    world.act()
    assert world.settle().is_(Life.RUNNING)


def test_ranks_may_finish_at_different_times_within_the_grace() -> None:
    world = World().run()
    world.hear(world.exit(0), world.exit(1), world.exit(2)).settle()
    assert "finish" in world.waits_for()
    world.hear(world.exit(3)).settle()
    assert world.is_(Life.ENDED)
    assert world.all(JobFailed) == []


def test_a_rank_that_runs_on_after_the_others_finished_fails_the_job() -> None:
    world = World().run()
    world.hear(world.exit(0), world.exit(1), world.exit(2)).settle()
    world.pass_deadline("finish").settle()
    assert world.last(JobFailed).because == "1 of 4 ranks not done 300 s after the first rank exited 0: 3"


def test_a_resumed_run_that_had_nothing_left_to_do_succeeds() -> None:
    world = World().run()
    world.steps = False
    world.diagnose()
    world.settle()
    world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.last(JobResumed).because == "all ranks exited 0"
    assert world.names().count("JobSucceeded") == 1
    assert world.is_(Life.ENDED)


def test_a_job_without_marks_counts_as_resumed_when_its_ranks_live() -> None:
    world = World(versions=NO_TORCH)
    world.steps = False
    world.run().diagnose(world.verdict(step=None))
    world.settle()
    assert world.all(JobResumed) == []
    world.pass_deadline("alive").settle()
    assert world.last(JobResumed).lost_steps is None
    assert world.last(IncidentClosed).accounts is not None


def test_a_torch_job_that_never_marked_is_resumed_by_living_as_long_as_a_level_may_take() -> None:
    world = World()
    world.steps = False
    world.run().diagnose(world.verdict(step=None))
    assert "alive" not in world.settle().waits_for()
    world.pass_deadline("level").settle()
    assert world.last(JobResumed).level is Level.IN_PLACE
    assert world.is_(Life.RUNNING)


def test_a_torch_job_that_never_marked_and_lost_a_rank_takes_the_next_level() -> None:
    world = World()
    world.steps = False
    world.run().diagnose(world.verdict(step=None))
    world.settle().hear(world.exit(2, code=1)).pass_deadline("level")
    assert world.last(RecoveryPlanned).level is Level.POD


@pytest.mark.parametrize("category", [Category.STORAGE, Category.DATA])
def test_a_job_that_finishes_before_anything_was_done_is_not_restarted(category: Category) -> None:
    world = World().run()
    world.diagnose(world.verdict(category=category), answers=category is Category.STORAGE)
    world.settle()
    world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.names().count("JobSucceeded") == 1
    assert world.last(IncidentClosed).outcome is Outcome.CLEARED
    assert world.fold.generation == 1


def test_a_job_that_marks_is_never_resumed_by_living_alone() -> None:
    world = World(versions=NO_TORCH).run()
    world.steps = False
    world.diagnose()
    assert "alive" not in world.settle().waits_for()


def test_a_dead_rank_is_not_alive() -> None:
    world = World(versions=NO_TORCH)
    world.steps = False
    world.run().diagnose()
    world.settle()
    assert "alive" in world.waits_for()
    world.hear(world.exit(2, code=1))
    assert "alive" not in world.waits_for()


def test_a_stop_before_anything_was_placed_leaves_nothing() -> None:
    world = World(nodes=[]).run()
    world.hear(StopJob(id=EventId("stop"), time=world.now, pool=POOL, job=JOB)).settle()
    assert world.is_(Life.ENDED)


def test_an_agent_that_never_confirms_the_end_does_not_keep_the_job() -> None:
    world = World().run()
    world.silent.add("worker-1")
    world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.is_(Life.ENDING)
    world.pass_deadline("end").settle()
    assert world.is_(Life.ENDED)


def test_tasks_that_end_before_they_join_are_made_anew_a_few_times() -> None:
    world = World().create()
    for count in range(3):
        assert world.is_(Life.PLACING)
        assert world.fold.tasks["worker-1"].incarnation == count + 1
        world.hear(world.lose("worker-1", LossCause.LAUNCHER_EXITED))
    assert "3 tasks in a row ended before they joined" in world.last(JobFailed).because


def gone(world: World, name: str, *, proven: bool = True) -> TaskStatus:
    ref = world.fold.tasks[name].ref
    return TaskStatus(job=JOB.uid, ref=ref, phase=TaskPhase.GONE, by=LossCause.DELETED, proven=proven)


def test_the_watch_tells_of_a_current_task_once_and_again_with_proof() -> None:
    world = World().run()
    unproven = observe(world.fold, gone(world, "worker-1", proven=False), world.now)
    assert isinstance(unproven, TaskLost)
    world.hear(unproven)
    assert observe(world.fold, gone(world, "worker-1", proven=False), world.now) is None
    proven = observe(world.fold, gone(world, "worker-1"), world.now)
    assert isinstance(proven, TaskLost)
    assert proven.id != unproven.id
    world.hear(proven)
    assert observe(world.fold, gone(world, "worker-1"), world.now) is None


def test_the_watch_says_nothing_of_a_task_replaced_long_ago() -> None:
    world = World().run()
    late = gone(world, "worker-1")
    world.hear(world.lose("worker-1"))
    world.diagnose()
    world.settle()
    assert observe(world.fold, late, world.now) is None


def test_the_watch_calls_a_task_that_keepstep_takes_out_released_and_not_lost() -> None:
    world = World().run()
    leaving = gone(world, "worker-1")
    world.hear(world.lose("worker-1", proven=False))
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    assert isinstance(observe(world.fold, leaving, world.now), TaskReleased)


def test_a_task_whose_ranks_all_finished_may_go() -> None:
    world = World().run()
    world.hear(world.exit(2), world.exit(3))
    status = gone(world, "worker-1")
    assert observe(world.fold, status, world.now) is None
    world.hear(world.lose("worker-1", LossCause.DELETED), world.exit(0), world.exit(1)).settle()
    released = observe(world.fold, status, world.now)
    assert released is not None
    world.hear(released).settle()
    assert world.is_(Life.ENDED)
    assert world.names().count("JobSucceeded") == 1


def test_a_joined_task_that_no_listing_has_is_missing() -> None:
    world = World().run()
    absent = missing(world.fold, frozenset({world.uid("worker-0")}))
    assert [(status.ref.name, status.by, status.proven) for status in absent] == [
        ("worker-1", LossCause.UNKNOWN, False)
    ]


def test_a_task_that_has_not_joined_yet_is_not_missing() -> None:
    assert missing(World(nodes=[]).run().fold, frozenset()) == ()


def drain_of(world: World, task: str) -> DrainNode:
    node = world.fold.tasks[task].node
    assert node is not None
    return DrainNode(id=EventId("d"), time=world.now, pool=POOL, job=JOB, node=node, reason="new fan", by="ops")


def test_a_drained_node_loses_its_tasks_as_planned() -> None:
    """A job that never saved has nothing to wait for."""
    world = World().create().settle()
    order = drain_of(world, "worker-1")
    world.hear(order)
    (lost,) = world.all(TaskLost)
    assert (lost.ref.name, lost.by, lost.text) == ("worker-1", LossCause.DRAINED, f"ops drains {order.node}: new fan")


def committed(world: World, step: int) -> CheckpointCommitted:
    return CheckpointCommitted(
        id=EventId(f"c{step}"), time=world.now, pool=POOL, job=JOB, step=step, path=f"/c/{step}", files=("f",)
    )


def test_a_drain_waits_for_the_next_checkpoint_of_a_job_that_saves() -> None:
    world = World().run()
    world.hear(committed(world, 10))
    world.hear(drain_of(world, "worker-1"))
    assert not world.all(TaskLost)
    world.hear(committed(world, 20))
    assert [lost.ref.name for lost in world.all(TaskLost)] == ["worker-1"]
    world.hear(committed(world, 30))
    assert len(world.all(TaskLost)) == 1


def test_a_drain_does_not_wait_for_ever() -> None:
    world = World().run()
    world.hear(committed(world, 10), drain_of(world, "worker-1"))
    (due,) = [each for each in deadlines(world.fold) if each.what.startswith("drain/")]
    assert due.due - world.now == world.fold.specified().policy.recovery.drain_wait
    passed = DeadlinePassed(
        id=EventId("p"),
        time=due.due,
        pool=POOL,
        job=JOB,
        service=Service.SCHEDULER_ADAPTER,
        scope=JOB.uid,
        what=due.what,
        due=due.due,
    )
    world.hear(passed)
    assert [lost.ref.name for lost in world.all(TaskLost)] == ["worker-1"]
    assert not [each for each in deadlines(world.fold) if each.what.startswith("drain/")]


def test_an_incident_that_the_diagnoser_closed_is_not_closed_again() -> None:
    world = World().create().settle()
    event = world.diagnose(world.verdict(), answers=False)
    fresh = World().create().settle()
    opened = IncidentOpened(
        id=EventId("o"), time=fresh.now, pool=POOL, job=JOB, incident=event.incident, fault=event.faults[0], because="b"
    )
    closed = IncidentClosed(
        id=EventId("c"),
        time=fresh.now,
        pool=POOL,
        job=JOB,
        incident=event.incident,
        outcome=Outcome.CLEARED,
        category=Category.HANG,
        because="over",
    )
    stop = StopJob(id=EventId("s"), time=fresh.now, pool=POOL, job=JOB)
    fresh.hear(opened, closed, stop).settle()
    assert [one.outcome for one in fresh.all(IncidentClosed)] == []


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
