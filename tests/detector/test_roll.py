"""Which folds are of jobs: those of the start, and those of which something was heard since."""

from keepstep.detector.core import fold_key
from keepstep.detector.core.state import Fold
from keepstep.detector.roll import Roll
from tests.detector.facts import JOB, World, recovered, running
from tests.detector.test_reports import report


def roll_of(folds: dict[str, Fold]) -> Roll:
    return Roll(lambda: folds, fold_key)


def test_the_jobs_of_the_start_are_found_and_no_node_among_them() -> None:
    world = running()
    world.hear(report(1))
    assert len(world.folds) > 1
    assert [job.job for job in roll_of(world.folds).jobs()] == [JOB]


def test_a_job_whose_first_message_is_on_its_way_is_found_once_its_fold_is_there() -> None:
    world, folds = running(), dict[str, Fold]()
    roll = roll_of(folds)
    assert not list(roll.jobs())
    roll.key_of(recovered(2)[0])
    assert not list(roll.jobs())
    folds[JOB.uid] = world.folds[JOB.uid]
    assert [job.job for job in roll.jobs()] == [JOB]


def test_a_job_that_was_forgotten_is_gone_and_comes_back_with_its_next_message() -> None:
    world = running()
    folds, roll = world.folds, roll_of(world.folds)
    known = folds.pop(JOB.uid)
    assert not list(roll.jobs())
    roll.key_of(recovered(2)[0])
    folds[JOB.uid] = known
    assert [job.job for job in roll.jobs()] == [JOB]


def test_a_report_of_a_node_makes_no_job_of_it() -> None:
    world = World()
    roll = roll_of(world.folds)
    assert not list(roll.jobs())
    assert roll.key_of(report(1)) is not None
    world.hear(report(1))
    assert not list(roll.jobs())
