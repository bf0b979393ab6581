"""Which folds are of jobs: those of the start, and those of which something was heard since."""

from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef
from keepstep.detector.core import fold_key
from keepstep.detector.core.state import Fold, JobFold
from keepstep.detector.roll import HEARD, Roll
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


class Touched(str):
    """A key that counts how often it, or another, is looked up."""

    __slots__ = ()
    times = 0

    def __hash__(self) -> int:
        Touched.times += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


def test_a_look_at_the_jobs_does_not_go_through_the_folds_of_all_nodes() -> None:
    """In a flood each of 20,000 reports asks; of 10,000 nodes a look took milliseconds of a busy core."""
    world = running()
    world.hear(report(1))
    of_a_node = next(fold for fold in world.folds.values() if not isinstance(fold.of, JobFold))
    folds = world.folds | {Touched(f"pool/n{at}"): of_a_node for at in range(1000)}
    roll = roll_of(folds)
    assert [job.job for job in roll.jobs()] == [JOB]
    roll.key_of(recovered(2)[0])
    Touched.times = 0
    assert [job.job for job in roll.jobs()] == [JOB]
    assert Touched.times == 0


def test_a_report_of_a_node_makes_no_job_of_it() -> None:
    world = World()
    roll = roll_of(world.folds)
    assert not list(roll.jobs())
    assert roll.key_of(report(1)) is not None
    world.hear(report(1))
    assert not list(roll.jobs())


def test_keys_whose_folds_never_come_are_remembered_within_bounds() -> None:
    folds = dict[str, Fold]()
    roll = roll_of(folds)
    assert not list(roll.jobs())
    for number in range(HEARD + 5):
        job = JobRef(name="j", uid=JobUid(f"job-{number}"))
        roll.key_of(recovered(2)[0].model_copy(update={"job": job}))
    folds.update({f"job-{number}": running().folds[JOB.uid] for number in (0, HEARD + 4)})
    assert len(list(roll.jobs())) == 1, "the oldest made room"
