"""When a fold is dropped: a while after its subject ended, so that late messages of it change nothing until then.

A pool that ran ten thousand jobs remembers those that live and those of the last day. A message that finds no fold is
of a job nobody knows, or knows any more: it is remembered as stray for as long, and decides nothing.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import AwareDatetime

from keepstep.contracts.events import DeadlinePassed, JobAccepted
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core.decision import Deadline

FORGET = "forget"
"""What the deadline waits for."""
KEPT = timedelta(days=1)
"""An agent that was cut off all night still finds its job remembered as ended."""
BEGINS: tuple[type[Message], ...] = (JobAccepted,)
"""What a job's life begins with for those who follow it."""


class Remembered(Frozen):
    """Whether the job of a fold is over, and since when."""

    ended: bool = False
    """Nothing more is decided about it."""
    ended_at: AwareDatetime | None = None
    stray: bool = False
    """It never began here: a message of a job that is unknown, or was forgotten."""
    forgotten: bool = False
    """It ended so long ago that no message of it is on its way any more: the fold may be dropped."""


R = TypeVar("R", bound=Remembered)


def recalled(fold: R | None, fresh: R, message: Message, now: datetime) -> R:
    """Return the fold on which the message is to be decided; where it is ``ended`` the message changes nothing.

    ``fresh`` is the fold of a job that begins. A deadline that finds no fold outlived it, and leaves none behind.
    """
    if fold is None or (fold.stray and isinstance(message, BEGINS)):
        if isinstance(message, BEGINS):
            return fresh
        outlived = isinstance(message, DeadlinePassed)
        return fresh.model_copy(update={"ended": True, "ended_at": now, "stray": True, "forgotten": outlived})
    if is_time(message, fold.ended_at):
        return fold.model_copy(update={"forgotten": True})
    return fold


def ended(bare: R, now: datetime) -> R:
    """Return what is kept of a job that is over: ``bare`` is its fold without all that is of no use any more."""
    return bare.model_copy(update={"ended": True, "ended_at": now})


def forget_at(since: datetime | None, *, kept: timedelta | None = None) -> Iterable[Deadline]:
    """Return when what ended, or was last heard of, at ``since`` is forgotten; None is never.

    ``kept`` is how long it is remembered, a job's day unless it is said.
    """
    return () if since is None else (Deadline(what=FORGET, due=since + (kept or KEPT)),)


def is_time(message: Message, since: datetime | None, *, kept: timedelta | None = None) -> bool:
    """Tell whether this is the moment that ``forget_at`` waits for, and not an earlier one that was put off since."""
    return isinstance(message, DeadlinePassed) and any(
        (message.what, message.due) == (deadline.what, deadline.due) for deadline in forget_at(since, kept=kept)
    )
