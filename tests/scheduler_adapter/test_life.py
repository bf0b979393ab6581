"""How jobs begin and end."""

from pathlib import Path

import pytest

from keepstep.contracts.events import (
    CheckpointCommitted,
    IncidentClosed,
    IncidentOpened,
    JobAccepted,
    JobFailed,
    JobResumed,
    JobStarted,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.orders import CreateJob, StopJob
from keepstep.contracts.taxonomy import Category, Framework, LossCause, Outcome
from keepstep.contracts.topology import LARGEST_SPEC
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks, effects
from tests.scheduler_adapter.voices import JOB, POOL, spec
from tests.scheduler_adapter.world import World


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


@pytest.mark.parametrize("category", [Category.STORAGE, Category.DATA])
def test_a_job_that_finishes_before_anything_was_done_is_not_restarted(category: Category) -> None:
    world = World().run()
    world.diagnose(world.verdict(category=category), answers=category is Category.STORAGE)
    world.settle()
    world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.names().count("JobSucceeded") == 1
    assert world.last(IncidentClosed).outcome is Outcome.CLEARED
    assert world.fold.generation == 1


def test_launchers_leave_with_a_code_that_tells_how_the_job_ended() -> None:
    succeeded = World().run()
    succeeded.hear(*(succeeded.exit(rank) for rank in range(4)))
    failed = World().run()
    failed.hear(failed.exit(0), failed.exit(1), failed.exit(2)).settle()
    failed.pass_deadline("finish")
    stopped = World().run()
    stopped.hear(StopJob(id=EventId("stop"), time=stopped.now, pool=POOL, job=JOB))
    plans = [world.fold.plan for world in (succeeded, failed, stopped)]
    assert [plan and plan.exit_code for plan in plans] == [0, 1, 143]


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


@pytest.mark.parametrize("framework", Framework)
def test_the_run_plan_tells_of_all_tasks_where_the_framework_has_no_master_to_do_so(framework: Framework) -> None:
    world = World(spec(framework=framework)).run()
    plan = world.fold.plan
    assert plan is not None
    ports = [task.ports[-1] for task in sorted(world.fold.tasks.values(), key=lambda task: task.ref.index)]
    assert [peer.port for peer in plan.peers] == ([] if framework is Framework.PYTORCH else ports)
