"""How a job ends whose pods a controller makes: by its controller's hand, or as its controller respects it."""

import pytest

from keepstep.contracts.events import Finish, IncidentClosed, JobFailed, JobStopRequested
from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message
from keepstep.contracts.orders import StopJob
from keepstep.contracts.taxonomy import Outcome
from keepstep.ports.controllers import Listing
from keepstep.scheduler_adapter.core.ending import STOPPED
from keepstep.scheduler_adapter.core.sightings import vanished
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.controlled import Controlled
from tests.scheduler_adapter.voices import JOB, POOL


@pytest.mark.parametrize(
    ("how", "says", "outcome"),
    [
        (Finish.FAILED, JobFailed, Outcome.FAILED),
        (Finish.DELETED, JobStopRequested, Outcome.JOB_GONE),
        (Finish.SUCCEEDED, None, Outcome.CLEARED),
    ],
)
def test_a_job_that_its_controller_ends_closes_its_incident(
    how: Finish, says: type[Message] | None, outcome: Outcome
) -> None:
    world = Controlled().find()
    world.diagnose(answers=False)
    world.hear(world.finished(how))
    world.settle()
    assert says is None or world.last(says)
    assert world.last(IncidentClosed).outcome is outcome
    assert "backoffLimit reached" in world.last(IncidentClosed).because
    assert world.is_(Life.ENDED)


def test_the_pods_of_a_job_whose_object_is_gone_do_not_leave_as_if_it_had_succeeded() -> None:
    world = Controlled().find()
    world.hear(world.finished(Finish.DELETED))
    assert world.fold.plan is not None
    assert world.fold.plan.exit_code == STOPPED


def test_a_job_counts_as_gone_only_where_all_jobs_of_its_kind_can_be_seen() -> None:
    world = Controlled().find()
    hidden = Listing(frozenset(), unseen=frozenset({"PyTorchJob"}))
    assert list(vanished([world.fold], hidden, now=world.now)) == []
    (gone,) = vanished([world.fold], Listing(frozenset(), unseen=frozenset({"JobSet"})), now=world.now)
    assert gone.how is Finish.DELETED


def test_the_end_of_a_job_that_is_over_already_is_no_news() -> None:
    world = Controlled().find()
    world.hear(world.finished(Finish.FAILED)).settle()
    said = world.names()
    world.hear(world.finished(Finish.DELETED)).settle()
    assert world.names() == said


@pytest.mark.parametrize("well", [True, False])
def test_a_job_that_is_over_is_ended_as_one_and_its_controller_told_how(well: bool) -> None:
    world = Controlled().find()
    if well:
        world.hear(*(world.exit(rank) for rank in range(4)))
    else:
        world.hear(StopJob(id=EventId("stop"), time=world.now, pool=POOL, job=JOB, reason="enough"))
    world.settle()
    (ended,) = world.ends
    assert ended.succeeded is well
    assert world.is_(Life.ENDED)
    assert world.names()[-1] == "JobDeleted"
