"""Steps and loss over time as one small drawing, with the faults that held the job up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keepstep.console.views import IncidentRow, StepPoint

WIDTH, HEIGHT = 600.0, 90.0
MARGIN = 4.0
"""Above and below a curve, so that its line is not cut."""


@dataclass(frozen=True)
class Curves:
    """A drawing of ``WIDTH`` x ``HEIGHT``; a curve is the ``points`` of a polyline, empty where nothing is known."""

    steps: str
    loss: str
    faults: tuple[tuple[float, IncidentRow], ...]
    since: datetime
    until: datetime
    first: int
    last: int
    losses: tuple[float, float] | None
    """First and last loss."""
    step_range: tuple[int, int]
    """Of the axis on the left: at its bottom and at its top."""
    loss_range: tuple[float, float] | None
    """Of the axis on the right; None where the script tells no loss."""

    @property
    def ticks(self) -> tuple[tuple[float, datetime], ...]:
        """Where the axis of time is named, and with which instant."""
        return tuple((WIDTH * part / 2, self.since + (self.until - self.since) * part / 2) for part in range(3))


def curves(points: Sequence[StepPoint], incidents: Iterable[IncidentRow]) -> Curves | None:
    """Return the curves of a job; None before there are two points."""
    if len(points) < 2:
        return None
    since, until = points[0].at, points[-1].at
    span = (until - since).total_seconds()
    if span <= 0:
        return None

    def x(at: datetime) -> float:
        return (at - since).total_seconds() / span * WIDTH

    told = [(point.at, point.loss) for point in points if point.loss is not None]
    return Curves(
        steps=_line([(x(point.at), float(point.step)) for point in points]),
        loss=_line([(x(at), loss) for at, loss in told]),
        faults=tuple((x(one.occurred), one) for one in incidents if since <= one.occurred <= until),
        since=since,
        until=until,
        first=points[0].step,
        last=points[-1].step,
        losses=(told[0][1], told[-1][1]) if told else None,
        step_range=(min(point.step for point in points), max(point.step for point in points)),
        loss_range=(min(loss for _, loss in told), max(loss for _, loss in told)) if len(told) > 1 else None,
    )


def _line(points: Sequence[tuple[float, float]]) -> str:
    """Return points of a polyline whose least value lies at the bottom and whose greatest at the top."""
    if len(points) < 2:
        return ""
    low, high = min(value for _, value in points), max(value for _, value in points)
    room = HEIGHT - 2 * MARGIN
    scale = room / (high - low) if high > low else 0.0
    return " ".join(f"{x:.1f},{HEIGHT - MARGIN - (value - low) * scale:.1f}" for x, value in points)
