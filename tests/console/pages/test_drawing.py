"""Drawings are to scale, and values are written as people read them."""

from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from keepstep.console.pages import formats
from keepstep.console.pages.drawing.bars import WIDTH, drawn
from keepstep.console.pages.drawing.curves import HEIGHT, curves
from keepstep.console.views import IncidentView, StepPoint
from keepstep.contracts.ids import EventId, IncidentId
from keepstep.core.stages import Entry, Stage
from tests.core.test_timeline import at


def incident(
    stages: tuple[Stage, ...] = (), entries: tuple[Entry, ...] = (), closed: datetime | None = None
) -> IncidentView:
    return IncidentView(
        incident=IncidentId("i"), opened=at(10), occurred=at(10), closed=closed, stages=stages, entries=entries
    )


def entry(what: str, second: float) -> Entry:
    return Entry(id=EventId(f"{what}{second}"), at=at(second), what=what, text=what)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine says nothing of drawings
@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=12))
def test_stages_are_drawn_to_scale_one_after_the_other(seconds: list[float]) -> None:
    found = drawn(
        incident(tuple(Stage(name=f"s{i}", seconds=one) for i, one in enumerate(seconds)), closed=at(99)), at(0)
    )
    end = 0.0
    for bar in found.bars:
        assert bar.x == pytest.approx(end, abs=1e-6)
        assert bar.width == pytest.approx(bar.seconds / sum(seconds) * WIDTH)
        end = bar.x + bar.width
    assert end == pytest.approx(WIDTH if sum(seconds) else 0)


def test_an_open_incident_is_drawn_up_to_now() -> None:
    told = (entry("FaultDetected", 11), entry("FaultDiagnosed", 14))
    found = drawn(incident(entries=told), at(20))
    assert [(bar.name, bar.seconds) for bar in found.bars] == [("detect", 1), ("decide", 3), ("so_far", 6)]
    assert [mark.x for mark in found.marks] == [100, 400]
    assert found.open


def test_what_a_fast_clock_dates_before_the_fault_stands_at_its_beginning() -> None:
    found = drawn(incident(entries=(entry("FaultDetected", 9),)), at(20))
    assert [mark.x for mark in found.marks] == [0]
    assert [bar.name for bar in found.bars] == ["so_far"]


def test_a_curve_goes_from_the_least_to_the_greatest_and_back_to_a_checkpoint() -> None:
    points = [StepPoint(at=at(second), step=step) for second, step in ((0, 0), (10, 100), (20, 50))]
    found = curves(points, ())
    assert found is not None
    (x0, y0), (x1, y1), (x2, y2) = ([float(part) for part in pair.split(",")] for pair in found.steps.split())
    assert (x0, x1, x2) == (0, 300, 600)
    assert (y0, y1) == (HEIGHT - 4, 4)
    assert y2 == pytest.approx((y0 + y1) / 2)
    assert (found.loss, found.losses) == ("", None)


@pytest.mark.parametrize("points", [[], [StepPoint(at=at(0), step=1)], [StepPoint(at=at(0), step=1)] * 2])
def test_there_is_no_curve_without_two_moments(points: list[StepPoint]) -> None:
    assert curves(points, ()) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "\N{EN DASH}"), (0, "0.00 s"), (0.349, "0.35 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (185, "3 min 5 s"),
     (7800, "2 h 10 min"), (273_600, "3 d 4 h")],
)  # fmt: skip
def test_seconds_are_written_as_people_say_them(seconds: float | None, words: str) -> None:
    assert formats.duration(seconds) == words


def test_what_cannot_be_seen_or_turns_the_text_around_is_written_as_its_number() -> None:
    assert formats.visible("a\u202eb\u0000c\ufeffd\ne") == "a\\u202eb\\u0000c\\ufeffd\ne"
    assert formats.visible(Markup("<b>\u202e</b>")) == Markup("<b>\u202e</b>")
    assert formats.visible(7) == 7
