"""Pure decisions of this stage.

``state`` is what is remembered, ``decide`` what follows from a message, ``acts`` what is to be done, ``refusals`` why a
verdict isolates nothing, ``guard`` how much may be out, ``fleet`` what a fleet as it is allows, ``answers`` the events.
"""

from keepstep.isolator.core import answers, fleet, guard
from keepstep.isolator.core.acts import Empty, Fence, Free, Tend
from keepstep.isolator.core.decide import HEARS, deadlines, decide, effects, fold_key
from keepstep.isolator.core.state import Asker, Drain, Isolation, Isolations, Release, Request, Way

__all__ = [
    "HEARS",
    "Asker",
    "Drain",
    "Empty",
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
    "guard",
]
