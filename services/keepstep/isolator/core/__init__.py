"""Pure decisions of this stage.

``state`` is what is remembered, ``decide`` what follows from a message, ``refusals`` why a verdict isolates nothing,
``fleet`` what an observed fleet allows, ``answers`` the events.
"""

from keepstep.isolator.core import answers, fleet
from keepstep.isolator.core.decide import HEARS, deadlines, decide, effects, fold_key
from keepstep.isolator.core.state import Asker, Fence, Free, Isolation, Isolations, Release, Request, Tend, Way

__all__ = [
    "HEARS",
    "Asker",
    "Fence",
    "Free",
    "Isolation",
    "Isolations",
    "Release",
    "Request",
    "Tend",
    "Way",
    "answers",
    "deadlines",
    "decide",
    "effects",
    "fleet",
    "fold_key",
]
