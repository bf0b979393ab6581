"""Where a run's time went: the parts follow each other without a gap, and agree with the ratio told elsewhere."""

import itertools
from collections.abc import Iterable
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.core import ettr, spent, timeline
from tests.core.telling import OUTAGE_S, PARTS, Job, at

DAY = 86400.0


def told(messages: Iterable[Message], *, now: datetime) -> tuple[tuple[spent.Piece, ...], ettr.Ratio]:
    run, record = ettr.Run(), timeline.Record()
    for message in messages:
        run, record = ettr.tell(run, message), timeline.tell(record, message)
    return spent.pieces(run, record.timelines, now=now), ettr.ratio(run, now=now)


def test_one_incident_is_cut_into_its_stages_where_they_lay() -> None:
    job = Job()
    pieces, _ = told([job.accepted(), job.stepping(10), *job.incident(100, recompute=5)], now=at(200))
    assert [(piece.name, piece.seconds) for piece in pieces] == [
        ("startup", 10),
        ("productive", 90),
        *((name.removesuffix("_s"), seconds) for name, seconds in PARTS.items()),
        ("recompute", 5),
        ("productive", 200 - 100 - OUTAGE_S - 5),
    ]


def test_an_incident_that_is_not_over_takes_all_the_rest() -> None:
    job = Job()
    pieces, _ = told([job.accepted(), job.stepping(10), *job.incident(100)[:3]], now=at(200))
    assert [(piece.name, piece.seconds) for piece in pieces] == [
        ("startup", 10),
        ("productive", 90),
        ("not_resumed", 100),
    ]


def test_a_job_that_failed_spends_its_last_seconds_in_the_milestones_of_its_incident() -> None:
    job = Job()
    opened = job.incident(100)[:4]
    closed = job.say(
        e.IncidentClosed,
        130,
        incident=opened[1].incident,
        outcome=Outcome.FAILED,
        category=Category.UNKNOWN,
        because="budget spent",
    )
    failed = job.say(e.JobFailed, 130, category=Category.UNKNOWN, because="budget spent")
    pieces, ratio = told([job.accepted(), job.stepping(10), *opened, closed, failed], now=at(999))
    assert spent.totals(pieces) == {
        "startup": 10, "productive": 90, "detect": 1, "decide": 2, "plan": 3, "until_closed": 24,
    }  # fmt: skip
    assert ratio.wall_s == 130


@given(st.lists(st.tuples(st.floats(0, 900), st.floats(0, 80)), max_size=12), st.floats(1, 1200))
@settings(max_examples=150, deadline=None)
def test_the_parts_add_up_to_the_wall_time_whatever_overlaps(incidents: list[tuple[float, float]], now: float) -> None:
    job = Job()
    messages = [job.accepted(), job.stepping(20)]
    for number, (begin, recompute) in enumerate(incidents):
        messages += job.incident(begin, f"i{number}", recompute=recompute)
    pieces, ratio = told(messages, now=at(now))
    totals = spent.totals(pieces)
    assert sum(totals.values()) == pytest.approx(ratio.wall_s)
    assert totals.get("productive", 0.0) == pytest.approx(ratio.productive_s, abs=1e-4)
    assert all(one.end == following.begin for one, following in itertools.pairwise(pieces))
    assert all(piece.seconds > 0 for piece in pieces)


def test_a_simulated_month_gives_the_number_that_a_hand_calculates() -> None:
    """30 days, 10 min of start, 60 incidents of 28 s that each cost 5 min of recomputation."""
    job = Job()
    messages = [job.accepted(), job.stepping(600)]
    for number in range(60):
        messages += job.incident(DAY / 2 * (number + 0.5), f"i{number}", recompute=300, lost=100)
    pieces, ratio = told([*messages, job.succeeded(30 * DAY, 9)], now=at(99 * DAY))
    by_hand = (2_592_000 - 600 - 60 * (28 + 300)) / 2_592_000
    assert ratio.ettr == pytest.approx(by_hand, abs=1e-12)
    assert spent.totals(pieces)["recompute"] == pytest.approx(18_000)
    assert spent.totals(pieces)["load"] == pytest.approx(60 * 6)


def test_a_job_that_was_never_accepted_has_no_time_to_tell_of() -> None:
    assert told([], now=at(5))[0] == ()
