"""What a job of thousands of tasks costs when all of them go at once: each is looked up, none is sought."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from keepstep.contracts.ids import EventId, IncidentId
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.scheduler_adapter.core.losses import Meaning
from keepstep.scheduler_adapter.core.restarts import EndJob, RestartTasks, Standing
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.settings import Settings
from tests.counting import growth
from tests.scheduler_adapter.test_size import refs, under_way
from tests.scheduler_adapter.voices import JOB, POOL, START

LINEAR = 9.0
"""Of six times the tasks: with room for what is done once; the square is 36."""


@pytest.mark.parametrize("incarnation", [1, 2])
def test_a_listing_of_lost_tasks_is_gone_through_once(incarnation: int) -> None:
    """The first incarnation is on its way out, the second is what the job counts on."""

    def listed(tasks: int) -> Callable[[], object]:
        state = under_way(tasks, 1).model_copy(update={"life": Life.RUNNING})
        gone = [
            TaskStatus(job=JOB.uid, ref=ref, phase=TaskPhase.GONE, by=LossCause.NODE_LOST, proven=True)
            for ref in refs(tasks, incarnation)
        ]

        def through() -> None:
            meaning = Meaning(state)
            assert all(meaning.of(status, START) for status in gone)

        return through

    assert growth(listed) < LINEAR


def standing(tasks: int) -> tuple[Standing, ...]:
    return tuple(Standing(ref=ref) for ref in refs(tasks, 1))


def test_the_end_of_every_task_of_a_restart_is_said_in_one_pass() -> None:
    def restarted(tasks: int) -> Callable[[], object]:
        effect = RestartTasks(
            pool=POOL,
            job=JOB,
            incident=IncidentId("i"),
            cause=EventId("v"),
            attempt=1,
            level=Level.JOB,
            generation=1,
            to_generation=2,
            lost=standing(tasks),
            avoid=(),
        )
        gone = {each.ref.uid: True for each in effect.lost}
        return lambda: effect.released(gone, START)

    assert growth(restarted) < LINEAR


def test_the_end_of_every_task_of_a_job_is_said_in_one_pass() -> None:
    def ended(tasks: int) -> Callable[[], object]:
        effect = EndJob(pool=POOL, job=JOB, generation=1, tasks=standing(tasks), succeeded=True)
        gone = {each.ref.uid: True for each in effect.tasks}
        return lambda: effect.released(gone, START)

    assert growth(ended) < LINEAR


@pytest.mark.parametrize(("tasks", "seconds"), [(0, 0.05), (1, 0.05), (100, 0.05), (3_000, 1.5), (50_000, 2.0)])
def test_looks_at_a_restart_grow_rarer_with_the_tasks_that_each_goes_through(tasks: int, seconds: float) -> None:
    assert Settings().between_looks(tasks) == timedelta(seconds=seconds)
