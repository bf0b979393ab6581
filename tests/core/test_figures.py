"""The figures of a pool are a fold of its stream: the same however often it is read, and bounded whatever is said."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.policy import IsolationPolicy
from keepstep.core import figures, job_figures
from keepstep.core.figures import Figures, heard, tell
from keepstep.core.spread import Spread
from tests.core.telling import OUTAGE_S, PARTS, Job, at


def told(messages: Iterable[Message], known: Figures | None = None) -> Figures:
    known = known or Figures()
    for message in messages:
        known = tell(known, message)
    return known


def life() -> list[Message]:
    job = Job()
    return [
        job.accepted(),
        job.stepping(10),
        job.saved(50, 15, written=49, save_s=7.5),
        job.committed(52, 15),
        *job.incident(100, recompute=5, lost=5),
        job.succeeded(200, 100),
    ]


def test_an_incident_is_counted_by_category_level_and_outcome_with_what_its_stages_took() -> None:
    known = told(life())
    assert known.counters["faults"] == {"exit": 1}
    assert known.counters["opened"] == {"": 1}
    assert known.counters["closed"] == {"unknown|in-place|resumed": 1}
    assert known.counters["lost_steps"] == {"": 5}
    assert known.counters["ended"] == {"succeeded": 1}
    assert {stage: spread.total for stage, spread in known.spreads["stage"].items()} == {
        **{name.removesuffix("_s"): seconds for name, seconds in PARTS.items()},
        "recompute": 5.0,
    }
    assert known.spreads["recovery"]["in-place"].total == OUTAGE_S + 5
    assert known.spreads["commit"][""].total == 3.0
    assert known.spreads["save"][""].total == 7.5
    assert not known.open


def test_a_stream_read_again_from_anywhere_changes_nothing() -> None:
    once = told(life())
    for start in range(len(life())):
        assert told(life()[start:], once) == once


def test_figures_that_were_written_down_go_on_where_they_stood() -> None:
    for cut in range(len(life())):
        written = Figures.model_validate_json(told(life()[:cut]).model_dump_json())
        assert told(life()[cut:], written) == told(life())


@given(st.lists(st.integers(0, 11), max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_counter_ever_falls_in_whatever_order_and_however_often_things_are_said(order: list[int]) -> None:
    known, story = Figures(), life()
    for number in order:
        before, known = known, tell(known, story[number % len(story)])
        for name, counts in before.counters.items():
            assert all(known.counters[name][key] >= count for key, count in counts.items())
        for name, spreads in before.spreads.items():
            assert all(known.spreads[name][key].total >= spread.total for key, spread in spreads.items())


def test_an_open_incident_is_counted_until_it_is_closed_and_overdue_once_that_was_said() -> None:
    job = Job()
    first, *rest = job.incident(10)
    known = told([job.accepted(), first, rest[0]])
    assert len(known.open) == 1
    incident = rest[0].incident
    overdue = job.say(e.IncidentOverdue, 500, incident=incident, opened=at(11), because="late")
    assert [one.overdue for one in tell(known, overdue).open.values()] == [True]
    assert not told([overdue, *rest[1:]], known).open


def test_the_isolation_budget_is_what_rules_may_still_do_and_a_person_uses_none_of_it() -> None:
    job = Job()
    by_rules = [job.isolated(second, f"n{second}", incident="i") for second in range(3)]
    known = told([*by_rules, job.isolated(3, "n9")])
    assert known.budget_left(at(10)) == IsolationPolicy().storm_count - 3
    assert known.budget_left(at(10) + IsolationPolicy().storm_window) == IsolationPolicy().storm_count
    strict = told([job.accepted(20, IsolationPolicy(storm_count=3))], known)
    assert strict.budget_left(at(30)) == 0
    assert set(known.isolated) == {"n0", "n1", "n2", "n9"}
    assert "n1" not in tell(known, job.say(e.NodeReleased, 40, job=None, node="n1", because="b")).isolated


def test_isolations_are_held_for_as_long_as_the_storm_lasts() -> None:
    held = Job().say(e.IsolationDeclined, 5, held=True, because="held for a person")
    known = tell(Figures(), held)
    assert known.counters["declined"] == {"held": 1}
    assert known.held(at(6))
    assert not known.held(at(6) + IsolationPolicy().storm_window)


def test_an_ended_job_is_told_of_for_a_few_minutes_and_then_makes_room() -> None:
    known = told(life())
    ended = at(200)
    assert len(known.shown(ended + job_figures.LINGERS - timedelta(seconds=1))) == 1
    assert not known.shown(ended + job_figures.LINGERS)
    later = told([Job("next", "j2").accepted(200 + job_figures.LINGERS.total_seconds())], known)
    assert list(later.jobs) == ["j2"]


def test_a_job_that_was_told_a_folder_and_saves_nothing_is_unsaved_since_its_start() -> None:
    bare, saving, waiting = Job("bare", "j1", checkpoints=False), Job("saving", "j2"), Job("waiting", "j3")
    known = told([bare.accepted(), saving.accepted(5), waiting.accepted(6), bare.started(7), saving.started(9)])
    assert [job.unsaved_since for job in known.jobs.values()] == [None, at(9), None]
    known = tell(known, saving.committed(60, 10))
    assert known.jobs[saving.ref.uid].unsaved_since == at(60)


def test_ratio_and_goodput_are_the_productive_part_and_the_steps_that_stayed() -> None:
    found = job_figures.share(next(iter(told(life()).jobs.values())), now=at(1000))
    lost = 10 + OUTAGE_S + 5
    assert found.wall_s == 200
    assert found.productive_s == 200 - lost
    assert found.ettr == pytest.approx((200 - lost) / 200)
    assert found.goodput == pytest.approx(99 / 200)


def test_of_a_checkpoint_in_parts_the_slowest_save_and_the_last_write_count() -> None:
    job = Job()
    parts = [
        job.saved(second, 15, written=second - 1, save_s=save_s)
        for second, save_s in ((20, 3.0), (24, 9.0), (23, None))
    ]
    known = told([job.accepted(), *parts, job.saved(26, 16, written=25), job.committed(30, 15), job.committed(31, 16)])
    assert (known.spreads["save"][""].total, known.spreads["save"][""].cumulative[-1]) == (9.0, 1)
    assert known.spreads["commit"][""].total == 7 + 6
    assert not next(iter(known.jobs.values())).saving.written


def test_figures_that_an_earlier_version_wrote_are_read() -> None:
    """A ledger that cannot be read is counted again from a stream that reaches back a month, and counters fall."""
    written = told(life()).model_dump(mode="json")
    [job] = written["jobs"].values()
    job["saved"] = job.pop("saving")["written"]
    assert Figures.model_validate(written).counters == told(life()).counters


def test_what_hardware_reports_is_counted_and_its_end_is_not() -> None:
    job = Job()
    device = {"job": None, "node": "n1", "device": "0", "code": "Xid 79"}
    public = {"job": None, "node": "n1", "source": "bmc", "code": "psu"}
    known = told(
        [
            job.say(e.DeviceReported, 1, **device),
            job.say(e.DeviceReported, 2, **device, active=False),
            job.say(e.NodeReported, 3, job=None, node="n1", condition="DiskFull /"),
            job.say(e.PublicFaultReported, 4, **public),
            job.say(e.PublicFaultReported, 5, **public, assertion="recover"),
        ]
    )
    assert known.counters["reports"] == {"device": 1, "node": 1, "public": 1}


def test_a_job_with_hundreds_of_interruptions_keeps_its_ratio_and_forgets_the_oldest() -> None:
    job, count = Job(), job_figures.OUTAGES * 3
    messages: list[Message] = [job.accepted(), job.stepping(10)]
    for number in range(count):
        messages += job.incident(100.0 * (number + 1), f"i{number}", recompute=2)
    known = told(messages).jobs[job.ref.uid]
    assert len(known.run.outages) == job_figures.OUTAGES
    wall = 100.0 * (count + 2)
    found = job_figures.share(known, now=at(wall))
    assert found.productive_s == pytest.approx(wall - 10 - count * (OUTAGE_S + 2))


NAMES = st.text(min_size=1, max_size=400)


@given(st.lists(NAMES, min_size=1, max_size=30), st.data())
@settings(max_examples=30, deadline=None)
def test_whatever_is_said_the_figures_stay_bounded(names: list[str], data: st.DataObject) -> None:
    known = Figures()
    for number, name in enumerate(names):
        job = Job(name, f"j{number}")
        known = told([job.accepted(number), job.isolated(number, name, name), *job.incident(number, name)], known)
    assert len(known.jobs) <= figures.JOBS
    assert len(known.isolated) <= figures.PLACES
    assert len(known.seen) + sum(map(len, known.seen_before)) <= figures.IDS + figures.NEWEST
    assert len(known.by_rule) <= figures.RECENT


def test_the_newest_jobs_are_remembered_when_there_are_more_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(figures, "JOBS", 3)
    known = told(Job(f"t{number}", f"j{number}").accepted(number) for number in range(5))
    assert list(known.jobs) == ["j2", "j3", "j4"]


def test_a_spread_counts_each_duration_once_at_its_bound() -> None:
    spread = Spread() + 0.1 + 0.2 + 4000 + -1.0
    assert spread.cumulative[0] == 2
    assert spread.cumulative[1] == 3
    assert spread.cumulative[-1] == 4
    assert spread.total == pytest.approx(4000.3)


def test_what_changes_a_figure_is_asked_for() -> None:
    """A message that the fold knows and nobody subscribes to would never be counted."""
    changing = {type(message) for message in [*life(), Job().isolated(1, "n"), Job().saved(1, 2, written=0)]}
    changing -= {e.RecoveryPlanned, e.RanksStarted}
    assert changing <= set(heard())
