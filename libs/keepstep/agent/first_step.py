"""Whether all local ranks completed their first step of a generation, and where the time went."""

from collections.abc import Sequence

from keepstep.contracts.model import Frozen
from keepstep.trainer.progress import NO_STEP, Slot

NANO = 1e9


class FirstStep(Frozen):
    """The slowest local rank's way to its first step, in seconds by stage; the parts add up to the whole."""

    step: int | None
    estimated: bool
    init_s: float
    load_s: float
    first_step_s: float


def first_step(slots: Sequence[Slot], generation: int) -> FirstStep | None:
    """Return the first step of the generation once every local rank made it, else None."""
    if not slots or any(slot.generation != generation or slot.first_ns == 0 for slot in slots):
        return None
    slowest = max(slots, key=lambda slot: slot.first_ns - slot.start_ns)
    init_s, load_s, rest_s = _stages(slowest)
    steps = [slot.step for slot in slots if slot.step != NO_STEP]
    return FirstStep(
        step=min(steps) if steps else None,
        estimated=any(slot.estimated for slot in slots),
        init_s=init_s,
        load_s=load_s,
        first_step_s=rest_s,
    )


def _stages(slot: Slot) -> tuple[float, float, float]:
    """Return seconds until init was done, for loading, and for the rest; a stage that was never marked takes none.

    Scripts load before or after they join the process group, so each stage is charged from the one before it in time.
    """
    spent = {"init": 0.0, "load": 0.0}
    before = slot.start_ns
    ends = sorted((end, name) for end, name in ((slot.init_ns, "init"), (slot.load_ns, "load")) if end)
    for end, name in ends:
        if before < end <= slot.first_ns:
            spent[name] = (end - before) / NANO
            before = end
    return spent["init"], spent["load"], (slot.first_ns - before) / NANO
