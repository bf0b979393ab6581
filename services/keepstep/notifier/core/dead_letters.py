"""What people are told of dead letters: by the pool's rules, in its thread; of a broken channel once for each reason.

A channel that takes nothing loses the messages of every incident. Whoever reads those elsewhere is to know that once,
not once for each message and amid its incident; and it is of no use to tell it to the broken channel itself.
"""

import re
from datetime import datetime, timedelta

from keepstep.contracts.events import DELIVERIES, DeadLettered
from keepstep.contracts.message import Message
from keepstep.notifier.core.endings import mark
from keepstep.notifier.core.state import Loss, Notices

ANEW = timedelta(hours=1)
"""So long without a loss a channel counts as mended: the next one is news. A message is tried for as long."""
REMINDED = timedelta(hours=6)
"""How often people hear of a channel that stays broken: about once a watch."""
MOST = 64
"""Channels and reasons told apart; of more the oldest are forgotten, and are news again."""
_NUMBER = re.compile(r"[\w-]*\d[\w-]*", re.ASCII)


def of_pool(message: DeadLettered) -> DeadLettered:
    """Return it as the pool's matter; one of a lost message to people is of no incident either, as all are lost."""
    update: dict[str, object] = {"job": None, "task": None, "node": None, "generation": None}
    return message.model_copy(update=update | ({"incident": None} if is_loss(message) else {}))


def is_loss(message: Message) -> bool:
    """Tell whether it says that a message to people was lost."""
    return isinstance(message, DeadLettered) and message.about in DELIVERIES


def counted(state: Notices, message: DeadLettered, now: datetime) -> tuple[Notices, int]:
    """Return the fold that counts the loss, and how many to tell of: none of a channel's that is told of already."""
    name = f"{message.channel or message.address}: {_NUMBER.sub('#', message.because)}"
    known = state.losses.get(name)
    news = known is None or now - known.last >= ANEW or now - known.told >= REMINDED
    count = 1 if known is None else known.untold + 1
    loss = Loss(last=now, told=now if news or known is None else known.told, untold=0 if news else count)
    losses = {other: each for other, each in state.losses.items() if other != name} | {name: loss}
    kept = dict(list(losses.items())[-MOST:])
    return state.model_copy(update={"losses": kept}), count if news else 0


def is_broken(message: Message, sink: str) -> bool:
    """Tell whether the message says of this sink that it takes nothing."""
    if not isinstance(message, DeadLettered) or not is_loss(message):
        return False
    return sink == message.channel or mark(sink) == message.address


def title(message: DeadLettered) -> str:
    """Return what people are told of a way that takes nothing."""
    return f"Channel {message.channel} does not deliver" if message.channel else "A webhook of a rule does not deliver"


def facts(message: DeadLettered) -> tuple[tuple[str, str], ...]:
    """Return which channel it is; an address is a secret."""
    return (("channel", message.channel),) if message.channel else ()
