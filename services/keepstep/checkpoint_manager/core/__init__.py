"""Pure decisions of this stage: ``state`` is what is remembered, ``decide`` what follows, ``look`` what files prove."""

from keepstep.checkpoint_manager.core.decide import HEARS, deadlines, decide, effects, fold_key, over
from keepstep.checkpoint_manager.core.look import Glance, Seen, choose
from keepstep.checkpoint_manager.core.state import KEPT, Checkpoints, Choice, Part, Step, Verify, Wake

__all__ = [
    "HEARS",
    "KEPT",
    "Checkpoints",
    "Choice",
    "Glance",
    "Part",
    "Seen",
    "Step",
    "Verify",
    "Wake",
    "choose",
    "deadlines",
    "decide",
    "effects",
    "fold_key",
    "over",
]
