"""What a service knows of a key, said again every day, so that retention never forgets it (PROTOCOL section 3).

The stream keeps a month; a job may run longer and an isolation may last. A restatement holds the whole fold and the
sequence of the last message in it: whoever rebuilds from a stream whose beginning is gone starts with the newest one
and folds what came after that sequence. It is said on a durable deadline like any other, in the outbox of the write
that decided on it.
"""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import ValidationError

from keepstep.contracts.events import DeadlinePassed, FoldRestated
from keepstep.contracts.ids import Pool, consequence_id
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Deadline
from keepstep.runtime.fold import Fold
from keepstep.runtime.packing import pack, unpack

S = TypeVar("S", bound=Frozen)

WHAT = "restate"
"""Name of the deadline; the stage never hears of it."""
EVERY = timedelta(days=1)
"""A thirtieth of what the stream keeps: a month of lost restatements loses nothing yet."""
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""For a fold that was written before there were restatements: it is due at once."""
LONG = 1024
"""Characters from which a restatement is packed: it is read once in a blue moon, and kept for a month."""


def restatement_deadline(restated: datetime | None) -> Deadline:
    """Return when a fold that was restated, or began, at this moment is restated next."""
    return Deadline(what=WHAT, due=(restated or NEVER) + EVERY)


def is_restatement(service: Service, message: Message) -> bool:
    """Tell whether the message is this service's deadline for a restatement."""
    return isinstance(message, DeadlinePassed) and message.service is service and message.what == WHAT


def restate(service: Service, scope: str, fold: Fold[S], passed: Message, now: datetime) -> FoldRestated:
    """Return the restatement of a fold whose last message is ``passed``."""
    return FoldRestated(
        id=consequence_id("FoldRestated", passed.id, subject=f"{service}/{scope}"),
        time=now,
        pool=Pool(passed.pool),
        job=fold.job,
        cause=passed.id,
        service=service,
        scope=scope,
        through=fold.applied,
        state=pack(fold.state.model_dump_json(), over=LONG),
    )


def restored(model: type[S], event: FoldRestated) -> Fold[S] | None:
    """Return the fold of a restatement, or None if this version cannot read it."""
    try:
        state = model.model_validate_json(unpack(event.state))
    except (ValidationError, ValueError):
        return None
    return Fold(state, event.through, job=event.job, restated=event.time)
