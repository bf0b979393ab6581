"""Who is overdue is found without going through everybody, and comes to the same."""

from hypothesis import given
from hypothesis import strategies as st

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.topology import JobRef
from keepstep.core.placement import Seat
from keepstep.detector.core.hearing import Heard
from keepstep.detector.core.places import Places
from keepstep.detector.core.state import JobFold
from tests.detector.facts import POOL, beat, node, task

TASKS, JOBS = 6, 3
HEAR = st.tuples(st.just("hear"), st.integers(0, TASKS - 1), st.none())
PLACE = st.tuples(st.just("place"), st.integers(0, JOBS - 1), st.frozensets(st.integers(0, TASKS - 1)))


def uid(index: int) -> TaskUid:
    return task(index).uid


def job(number: int, indexes: frozenset[int]) -> JobFold:
    """Return a job that has those of these tasks that may be its own."""
    own = [index for index in sorted(indexes) if index % JOBS == number]
    tasks = {uid(index): Seat(ref=task(index), node=node(index)) for index in own}
    return JobFold(pool=POOL, job=JobRef(name="j", uid=JobUid(f"job-{number}")), tasks=tasks)


@given(st.lists(st.one_of(HEAR, PLACE), max_size=40), st.floats(-1, 41))
def test_the_overdue_are_those_last_heard_or_watched_since_before(
    acts: list[tuple[str, int, frozenset[int] | None]], before: float
) -> None:
    places, jobs = Places(), dict[int, JobFold]()
    heard, since = dict[TaskUid, Heard](), dict[TaskUid, float]()
    for now, (_, number, indexes) in enumerate(acts):
        if indexes is None:
            heard.pop(uid(number), None)
            heard[uid(number)] = Heard(beat(number, now), float(now))
            places.heard(uid(number))
            continue
        left = set(since)
        jobs[number] = job(number, indexes)
        gone = set(places.follow(list(jobs.values()), heard, float(now)))
        placed = {one for each in jobs.values() for one in each.tasks}
        assert gone == left - placed
        since = {one: since.get(one, float(now)) for one in placed}
    assert places.known == since
    last = {one: heard[one].at if one in heard else at for one, at in since.items()}
    found = {one for uids in places.overdue(heard, before=before).values() for one in uids}
    assert found == {one for one, at in last.items() if at < before}


def test_whoever_beats_leaves_no_trace_of_having_been_waited_for() -> None:
    """A task that is heard, replaced and comes back is watched anew."""
    places, heard = Places(), dict[TaskUid, Heard]()
    here, empty = job(0, frozenset({0})), job(0, frozenset())
    assert list(places.follow([here], heard, 0.0)) == []
    assert list(places.follow([empty], heard, 5.0)) == [uid(0)]
    assert places.overdue(heard, before=99.0) == {}
    assert list(places.follow([here], heard, 10.0)) == []
    assert places.known == {uid(0): 10.0}
