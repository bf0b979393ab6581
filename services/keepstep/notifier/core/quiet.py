"""Until when quiet hours keep a message back."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from keepstep.contracts.channel_parts import QuietHours
from keepstep.contracts.taxonomy import Severity

MOST_DAYS = 8
"""A week of hours that last all day each; longer ones are looked at again when these have passed."""


def held_until(quiet: Iterable[QuietHours], severity: Severity, now: datetime) -> datetime | None:
    """Return when the message may go out, None for now; hours that touch each other are one."""
    hours, until = tuple(quiet), now
    for _ in range(MOST_DAYS):
        keeping = [each for each in hours if each.keeps(severity, until)]
        if not keeping:
            break
        until = max(ends(each, until) for each in keeping)
    return None if until == now else until


def ends(hours: QuietHours, now: datetime) -> datetime:
    """Return when the hours that ``now`` (aware) lies in are over: wall time of their zone, as its clocks will show.

    In an hour that clocks go through twice they are over in the one that ``now`` lies in.
    """
    local = now.astimezone(ZoneInfo(hours.zone))
    day = local.date() if local.time() < hours.end else local.date() + timedelta(days=1)
    return datetime.combine(day, hours.end.replace(fold=local.fold), tzinfo=local.tzinfo).astimezone(now.tzinfo)
