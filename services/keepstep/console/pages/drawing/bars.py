"""The timeline of an incident: its stages one after the other, to scale, and above them when what was said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from keepstep.console.views import IncidentView
from keepstep.core.stages import Entry, Stage, milestones

WIDTH = 1000.0
LABEL = 26.0
"""Least width of a stage that has its number written into it."""
MARKS_KEPT = 120


@dataclass(frozen=True)
class Bar:
    """One stage; ``number`` is what the list beside the drawing knows it by."""

    number: int
    name: str
    seconds: float
    x: float
    width: float
    share: float

    @property
    def labelled(self) -> bool:
        """Whether there is room for its number."""
        return self.width >= LABEL


@dataclass(frozen=True)
class Mark:
    """Something was said."""

    x: float
    entry: Entry


@dataclass(frozen=True)
class Drawn:
    """A timeline as it is drawn: 0 is the fault, ``wall_s`` the end of the last stage."""

    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    wall_s: float
    open: bool

    @property
    def ticks(self) -> tuple[tuple[float, float], ...]:
        """Where the axis is named, and with how many seconds."""
        return tuple((WIDTH * part / 4, self.wall_s * part / 4) for part in range(5))


def drawn(incident: IncidentView, now: datetime) -> Drawn:
    """Return the timeline of an incident; one that is open is drawn up to now."""
    stages = incident.stages or milestones(incident.entries, incident.occurred, now, rest="so_far")
    wall_s = sum(stage.seconds for stage in stages)
    bars = tuple(_bars(stages, wall_s))
    marks = tuple(_marks(incident.entries, incident.occurred, wall_s))
    return Drawn(bars=bars, marks=marks[-MARKS_KEPT:], wall_s=wall_s, open=incident.closed is None)


def _bars(stages: Sequence[Stage], wall_s: float) -> Iterable[Bar]:
    x = 0.0
    for number, stage in enumerate((stage for stage in stages if stage.seconds > 0), 1):
        part = stage.seconds / wall_s
        yield Bar(number=number, name=stage.name, seconds=stage.seconds, x=x, width=part * WIDTH, share=part)
        x += part * WIDTH


def _marks(entries: Iterable[Entry], start: datetime, wall_s: float) -> Iterable[Mark]:
    """Yield what was said within the drawn time; clocks of machines differ, so what seems to be before is at 0."""
    end = start + timedelta(seconds=wall_s)
    for entry in entries:
        if wall_s and entry.at <= end:
            yield Mark(x=max(0.0, (entry.at - start).total_seconds()) / wall_s * WIDTH, entry=entry)
