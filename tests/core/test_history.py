"""What a job went through: each incident once with time, cause and end, the newest ten, and how many in all."""

from hypothesis import given
from hypothesis import strategies as st

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.core import history
from tests.core.test_timeline import at, fields, story


def opened(number: int) -> e.IncidentOpened:
    incident = {"incident": f"i{number}", "fault": f"f{number}"}
    return e.IncidentOpened.model_validate(fields(f"o{number}", number * 60, because=f"fault {number}", **incident))


def closed(number: int) -> e.IncidentClosed:
    end = {"outcome": Outcome.RESUMED, "category": Category.HANG, "because": "steps again"}
    return e.IncidentClosed.model_validate(fields(f"c{number}", number * 60 + 5, incident=f"i{number}", **end))


def told(*messages: Message) -> history.History:
    known = history.History()
    for message in messages:
        known = history.tell(known, message)
    return known


def test_an_incident_is_one_record_with_time_cause_levels_and_end() -> None:
    (record,) = told(*story()).newest
    assert (record.at, record.category, record.because) == (at(10.1), Category.UNKNOWN, "SIGKILL from outside")
    assert (record.levels, record.outcome) == ((Level.IN_PLACE,), Outcome.RESUMED)


def test_an_incident_that_nobody_has_judged_yet_is_open_for_the_reason_of_its_fault() -> None:
    (record,) = told(opened(1)).newest
    assert (record.category, record.because, record.outcome) == (None, "fault 1", None)


def test_the_eleventh_record_drops_the_first_and_is_counted() -> None:
    known = told(*(message for number in range(1, 12) for message in (opened(number), closed(number))))
    assert known.total == 11
    assert [record.incident for record in known.newest] == [f"i{number}" for number in range(2, 12)]
    assert (known.first, known.last) == (at(60), at(660))


@given(st.lists(st.sampled_from([opened(number) for number in range(1, 15)]), max_size=20))
def test_what_is_told_again_is_neither_counted_nor_brought_back(again: list[Message]) -> None:
    once = told(*(opened(number) for number in range(1, 15)))
    for message in again:
        assert history.tell(once, message) == once
