"""Pure decisions of this stage.

``words`` says what a message means to people, ``steps`` what a cluster's objects are told, ``decide`` who is told.
"""

from keepstep.notifier.core.decide import deadlines, decide, effects, fold_key, hears, over
from keepstep.notifier.core.state import Deliver, Notices, Pending
from keepstep.notifier.core.steps import Step, step
from keepstep.notifier.core.tries import OBJECTS, delayed, delivered, dropped
from keepstep.notifier.core.words import Words, words

__all__ = [
    "OBJECTS",
    "Deliver",
    "Notices",
    "Pending",
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
    "over",
    "step",
    "words",
]
