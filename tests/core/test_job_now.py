"""How a job stands: a state, and the reason of that state alone."""

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level
from keepstep.core.job_now import JobNow, JobState
from keepstep.core.known_job import KnownJob
from tests.cli.test_view import started
from tests.core.test_timeline import JOB, at, closed, diagnosed, fields, resumed


def waits(second: float = 11) -> e.JobWaiting:
    return e.JobWaiting.model_validate(fields(f"w{second}", second, because="no node is free"))


def planned(second: float = 10.5) -> e.RecoveryPlanned:
    more = {"incident": "i1", "attempt": 1, "level": Level.POD, "to_generation": 2, "because": "mildest that can work"}
    return e.RecoveryPlanned.model_validate(fields("plan", second, **more))


def restarted(second: float = 12) -> e.RanksStarted:
    more = {"generation": 2, "attempt": 1, "placement": started().placement}
    return e.RanksStarted.model_validate(fields("ranks", second, **more))


def stop() -> e.JobStopRequested:
    return e.JobStopRequested.model_validate(fields("stop", 20, by="ann", reason="enough"))


def deleted() -> e.JobDeleted:
    return e.JobDeleted.model_validate(fields("deleted", 21))


def failed() -> e.JobFailed:
    return e.JobFailed.model_validate(fields("failed", 20, category=Category.DATA, because="no such file"))


@pytest.mark.parametrize(
    ("said", "state", "because"),
    [
        ([started(), diagnosed(), planned(), resumed()], JobState.RUNNING, ""),
        ([waits(1), started()], JobState.RUNNING, ""),
        ([started(), diagnosed(), closed()], JobState.RUNNING, ""),
        ([started(), planned(), waits()], JobState.WAITING, "no node is free"),
        ([started(), planned(), waits(), restarted()], JobState.RECOVERING, "mildest that can work"),
        ([started(), planned(), waits(), restarted(), resumed()], JobState.RUNNING, ""),
        ([started(), stop()], JobState.STOPPING, "enough"),
        ([started(), stop(), deleted()], JobState.STOPPED, "enough"),
        ([waits(1), deleted()], JobState.STOPPED, ""),
        ([started(), planned(), failed()], JobState.FAILED, "no such file"),
    ],
)
def test_a_reason_is_told_with_the_state_that_it_explains_and_with_no_later_one(
    said: list[Message], state: JobState, because: str
) -> None:
    """A job that ran again for an hour was shown as "running: rank 3 was killed from outside"."""
    job = KnownJob(JOB)
    for message in said:
        job.hear(message)
    assert (job.view.state, job.view.because) == (state, because)
    assert job.as_object(at(30))["because"] == because


def test_a_line_of_a_job_tells_why_it_stands_so_whatever_its_state() -> None:
    view = JobNow()
    for message in (started(), failed()):
        view.hear(message)
    assert view.line().startswith("failed")
    assert "no such file" in view.line()
