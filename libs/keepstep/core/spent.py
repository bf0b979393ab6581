"""Where a run's wall time went: cut into pieces that follow each other without a gap, so that the parts add up to it.

The same time as ``ettr`` counts: the start until all tasks step, the interruptions with their recomputation (what
overlaps belongs to the earlier one), and the rest, which was productive.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from keepstep.contracts.ids import IncidentId
from keepstep.contracts.model import Frozen
from keepstep.core import ettr
from keepstep.core.timeline import Timeline

STARTUP, PRODUCTIVE, OPEN, RECOMPUTE = "startup", "productive", "not_resumed", "recompute"


class Piece(Frozen):
    """A part of the wall time; ``incident`` is the one that cost it."""

    name: str
    begin: AwareDatetime
    end: AwareDatetime
    incident: IncidentId | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end - self.begin).total_seconds()


def pieces(run: ettr.Run, timelines: Mapping[IncidentId, Timeline], *, now: datetime) -> tuple[Piece, ...]:
    """Return the wall time from acceptance to the job's end (or ``now``) in pieces; none for a job never accepted."""
    end = run.ended or now
    if run.accepted is None or end <= run.accepted:
        return ()
    stepping = min(ettr.stepping_since(run) or end, end)
    told = [Piece(name=STARTUP, begin=run.accepted, end=stepping)]
    for piece in _interruptions(run, timelines, end):
        begin, stop = max(piece.begin, told[-1].end), min(piece.end, end)
        if stop <= begin:
            continue
        told.append(Piece(name=PRODUCTIVE, begin=told[-1].end, end=begin))
        told.append(piece.model_copy(update={"begin": begin, "end": stop}))
    told.append(Piece(name=PRODUCTIVE, begin=told[-1].end, end=end))
    return tuple(piece for piece in told if piece.end > piece.begin)


def totals(told: Iterable[Piece]) -> dict[str, float]:
    """Return seconds by name, in the order in which names come first; they add up to the wall time."""
    found: dict[str, float] = {}
    for piece in told:
        found[piece.name] = found.get(piece.name, 0.0) + piece.seconds
    return found


def _interruptions(run: ettr.Run, timelines: Mapping[IncidentId, Timeline], end: datetime) -> Iterator[Piece]:
    """Yield the pieces of all interruptions, those of an earlier one first."""
    for incident, outage in sorted(run.outages.items(), key=lambda item: (item[1].since, item[0])):
        yield from _of(incident, outage, timelines.get(incident), end)


def _of(incident: IncidentId, outage: ettr.Outage, timeline: Timeline | None, end: datetime) -> Iterator[Piece]:
    """Yield an interruption's stages one after the other, the last one up to the first step after it.

    Its stages were measured on several clocks, so that they may miss the interruption by a little: the last takes that.
    """
    begin = outage.since
    resumed = end if outage.resumed is None else max(outage.resumed, begin)
    stages = () if timeline is None else tuple(one for one in timeline.stages if one.name != RECOMPUTE)
    for stage in stages[:-1]:
        stop = min(begin + timedelta(seconds=stage.seconds), resumed)
        yield Piece(name=stage.name, begin=begin, end=stop, incident=incident)
        begin = stop
    yield Piece(name=stages[-1].name if stages else OPEN, begin=begin, end=resumed, incident=incident)
    if outage.resumed is not None and outage.recompute_s > 0:
        caught_up = resumed + timedelta(seconds=outage.recompute_s)
        yield Piece(name=RECOMPUTE, begin=resumed, end=caught_up, incident=incident)
