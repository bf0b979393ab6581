"""Pure decisions of this stage: ``words`` says what a message means to people, ``decide`` who is told."""

from keepstep.notifier.core.decide import deadlines, decide, effects, fold_key, hears, over
from keepstep.notifier.core.state import Deliver, Notices, Pending
from keepstep.notifier.core.tries import delayed, delivered, dropped
from keepstep.notifier.core.words import Words, words

__all__ = [
    "Deliver",
    "Notices",
    "Pending",
    "Words",
    "deadlines",
    "decide",
    "delayed",
    "delivered",
    "dropped",
    "effects",
    "fold_key",
    "hears",
    "over",
    "words",
]
