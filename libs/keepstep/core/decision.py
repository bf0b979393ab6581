"""What every service's pure core answers with.

A fold is the state of one key (a job, a node, the pool). Given a fold and one more message, ``decide`` returns the
next fold and what is to be said. Deadlines and effects are functions of the fold alone, so that a successor that only
has the fold knows what is still to be done.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen

S = TypeVar("S")


@dataclass(frozen=True)
class Decision(Generic[S]):
    """The next fold, the events to say, and one sentence with the numbers that led there ("" = nothing decided)."""

    state: S
    says: tuple[Message, ...] = ()
    because: str = ""


class Deadline(Frozen):
    """A moment the fold waits for; when due, its owner says DeadlinePassed with the same ``what`` and ``due``."""

    what: str
    due: datetime


class Effect(Protocol):
    """Something to be done to the world while the fold wants it; named by content, so that a repeat is the same."""

    @property
    def id(self) -> str:
        """Stable over restarts; the effect is done at most once while it stays wanted, more often after a crash."""
