"""Pure decisions of this stage: two folds.

``words`` says what a message means to people, ``alerts`` of which kind it is, ``rules`` who asked for it, ``telling``
who is told; ``outgoing`` when it goes out by a channel; ``steps`` what a cluster's objects are told.
"""

from keepstep.notifier.core.decide import deadlines, decide, effects, fold_key, hears, over
from keepstep.notifier.core.given import Given
from keepstep.notifier.core.outgoing.state import Bury, Outgoing, Send
from keepstep.notifier.core.state import Deliver, GiveUp, Notices, Pending
from keepstep.notifier.core.steps import Step, step
from keepstep.notifier.core.tries import OBJECTS, delayed, delivered, dropped
from keepstep.notifier.core.waiting import letter_of
from keepstep.notifier.core.words import Words, words

__all__ = [
    "OBJECTS",
    "Bury",
    "Deliver",
    "GiveUp",
    "Given",
    "Notices",
    "Outgoing",
    "Pending",
    "Send",
    "Step",
    "Words",
    "deadlines",
    "decide",
    "delayed",
    "delivered",
    "dropped",
    "effects",
    "fold_key",
    "hears",
    "letter_of",
    "over",
    "step",
    "words",
]
