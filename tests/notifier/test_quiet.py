"""Quiet hours keep messages back until their end, by the clocks of their zone; what may break them goes through."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.channel_parts import QuietHours
from keepstep.contracts.taxonomy import Severity
from keepstep.notifier.core.quiet import MOST_DAYS, held_until

NIGHT = QuietHours(start=time(22), end=time(7), zone="Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")


def shanghai(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 6, day, hour, minute, tzinfo=ZoneInfo("Asia/Shanghai")).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (shanghai(1, 21, 59), None),
        (shanghai(1, 22), shanghai(2, 7)),
        (shanghai(1, 23, 30), shanghai(2, 7)),
        (shanghai(2, 3), shanghai(2, 7)),
        (shanghai(2, 6, 59), shanghai(2, 7)),
        (shanghai(2, 7), None),
    ],
)
def test_a_warning_of_the_night_waits_for_the_morning_of_its_zone(now: datetime, until: datetime | None) -> None:
    assert held_until((NIGHT,), Severity.WARNING, now) == until


def test_critical_ones_break_the_hours_unless_the_rule_says_otherwise() -> None:
    deep = NIGHT.model_copy(update={"through": None})
    assert held_until((NIGHT,), Severity.CRITICAL, shanghai(1, 23)) is None
    assert held_until((deep,), Severity.CRITICAL, shanghai(1, 23)) == shanghai(2, 7)
    assert (
        held_until((NIGHT.model_copy(update={"through": Severity.WARNING}),), Severity.WARNING, shanghai(1, 23)) is None
    )


def test_hours_of_the_weekend_that_begin_on_friday_end_on_saturday_alone() -> None:
    friday = NIGHT.model_copy(update={"days": (5,)})  # 5 June 2026 is a Friday
    assert held_until((friday,), Severity.INFO, shanghai(5, 23)) == shanghai(6, 7)
    assert held_until((friday,), Severity.INFO, shanghai(6, 23)) is None


def test_hours_that_touch_each_other_are_one() -> None:
    morning = QuietHours(start=time(7), end=time(9), zone="Asia/Shanghai")
    assert held_until((NIGHT, morning), Severity.INFO, shanghai(1, 23)) == shanghai(2, 9)


def test_the_night_in_which_clocks_go_forward_is_an_hour_shorter() -> None:
    night = QuietHours(start=time(22), end=time(7), zone="Europe/Berlin")
    now = datetime(2026, 3, 28, 22, tzinfo=BERLIN)
    until = held_until((night,), Severity.INFO, now.astimezone(UTC))
    assert until is not None
    assert (until - now.astimezone(UTC)).total_seconds() == 8 * 3600


@settings(deadline=None)
@given(
    st.integers(0, 365 * 24 * 60).map(lambda minute: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)),
    st.times(),
    st.times(),
    st.sampled_from(["UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_what_is_held_is_held_for_a_while_and_not_for_ever(now: datetime, start: time, end: time, zone: str) -> None:
    hours = QuietHours(start=start.replace(fold=0), end=end.replace(fold=0), zone=zone)
    until = held_until((hours,), Severity.INFO, now)
    if until is None:
        assert not hours.covers(now)
    else:
        assert now < until
        assert (until - now).days <= MOST_DAYS


@pytest.mark.parametrize(("fold", "minute", "minutes"), [(0, 0, 30), (0, 45, 0), (1, 0, 30), (1, 29, 1), (1, 30, 0)])
def test_hours_that_end_in_the_hour_that_clocks_go_through_twice_are_over_each_time(
    fold: int, minute: int, minutes: int
) -> None:
    """Twice it is 02:00 to 03:00 in Berlin on 25 October 2026."""
    night = QuietHours(start=time(22), end=time(2, 30), zone="Europe/Berlin")
    now = datetime(2026, 10, 25, 2, minute, tzinfo=BERLIN, fold=fold).astimezone(UTC)
    until = held_until((night,), Severity.INFO, now)
    assert until == (now + timedelta(minutes=minutes) if minutes else None)


def test_hours_that_end_in_the_hour_that_clocks_leave_out_end_when_it_would_have_been_over() -> None:
    night = QuietHours(start=time(22), end=time(2, 30), zone="Europe/Berlin")
    now = datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN).astimezone(UTC)
    assert held_until((night,), Severity.INFO, now) == now + timedelta(hours=1)
