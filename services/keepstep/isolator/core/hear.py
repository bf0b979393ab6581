"""Where each kind of message finds its function."""

from datetime import datetime
from functools import singledispatch

from keepstep.contracts.message import Message, envelope
from keepstep.core.decision import Decision
from keepstep.isolator.core.state import Isolations


@singledispatch
def hear(_message: Message, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    """Return what follows from the message; functions are registered by its type, anything else changes nothing."""
    return Decision(fold)


def origin_of(message: Message) -> Message:
    """Return the message's envelope, to be kept as the cause of what follows."""
    return Message(id=message.id, **envelope(message, cause=message.cause))
