"""The tolerance history of one job: when it was struck, by what, what was done; the newest few, and how many in all."""

from pydantic import AwareDatetime, Field

from keepstep.contracts import events as e
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category, Level, Outcome

KEPT = 10
"""Records of one job, a screenful; the eleventh drops the first and is counted all the same."""


class Tolerance(Frozen):
    """One incident of the job in a line."""

    incident: IncidentId
    at: AwareDatetime
    """When it was opened."""
    category: Category | None = None
    because: str = ""
    levels: tuple[Level, ...] = ()
    outcome: Outcome | None = None
    """None while it is open."""


class History(Frozen):
    """What a job went through."""

    newest: tuple[Tolerance, ...] = ()
    first: AwareDatetime | None = None
    last: AwareDatetime | None = None
    total: int = 0
    """How many there were, the dropped ones among them."""
    seen: frozenset[IncidentId] = Field(default=frozenset(), exclude=True)


def tell(history: History, message: Message) -> History:
    """Return the history with one more message of its job; one that was told before changes nothing."""
    if message.incident is None:
        return history
    match message:
        case e.IncidentOpened() if message.incident not in history.seen:
            return _opened(history, message.incident, message)
        case e.FaultDiagnosed():
            verdict = message.verdict
            return _changed(history, message.incident, category=verdict.category, because=verdict.because)
        case e.RecoveryPlanned():
            return _planned(history, message.incident, message.level)
        case e.IncidentClosed():
            found = {"category": message.category, "outcome": message.outcome}
            return _changed(history, message.incident, **found)
        case _:
            return history


def _opened(history: History, incident: IncidentId, message: e.IncidentOpened) -> History:
    record = Tolerance(incident=incident, at=message.time, because=message.because)
    return history.model_copy(
        update={
            "newest": (*history.newest, record)[-KEPT:],
            "first": history.first or message.time,
            "last": message.time,
            "total": history.total + 1,
            "seen": history.seen | {incident},
        }
    )


def _planned(history: History, incident: IncidentId, level: Level) -> History:
    levels = next((one.levels for one in history.newest if one.incident == incident), ())
    return history if levels[-1:] == (level,) else _changed(history, incident, levels=(*levels, level))


def _changed(history: History, incident: IncidentId, **update: object) -> History:
    newest = tuple(one.model_copy(update=update) if one.incident == incident else one for one in history.newest)
    return history.model_copy(update={"newest": newest})
