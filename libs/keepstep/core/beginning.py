"""When an incident began: one meaning for messages, pages, reports, traces and figures."""

from datetime import datetime

from keepstep.contracts.events import FaultDiagnosed
from keepstep.contracts.message import Message


def began(message: Message, known: datetime | None = None) -> datetime:
    """Return when the incident of this message began, ``known`` before it: at the fault itself, as its witness saw it.

    Until a verdict says when that was it is the time of the incident's first message.
    """
    seen = message.occurred if isinstance(message, FaultDiagnosed) else message.time
    return seen if known is None else min(known, seen)
