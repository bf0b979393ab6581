"""What a look at the files proves, and which checkpoint is chosen by it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from keepstep.checkpoint_manager.core.state import Step, Verify
from keepstep.contracts.events import CheckpointChosen
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.contracts.message import Message, envelope


class Glance(StrEnum):
    """What was seen of a step's files."""

    PRESENT = "present"
    DAMAGED = "damaged"
    OUT_OF_SIGHT = "out_of_sight"
    """The folder cannot be seen from here: the agent's word is trusted."""


@dataclass(frozen=True)
class Seen:
    """A glance and its sentence with the numbers."""

    glance: Glance
    because: str


def choose(wanted: Verify, look: Callable[[Step], Seen], *, now: datetime) -> CheckpointChosen:
    """Return the newest candidate whose files are there, or from scratch; looks at no more steps than needed."""
    choice = wanted.choice
    passed = [choice.passed_over] if choice.passed_over else []
    for step in wanted.steps:
        seen = look(step)
        match seen.glance:
            case Glance.PRESENT | Glance.OUT_OF_SIGHT:
                because = "; ".join((f"step {step.step} is the newest whole one, {seen.because}", *passed))
                return chosen(choice.origin, step, because, now=now, again=choice.again)
            case Glance.DAMAGED:
                passed.append(f"step {step.step}: {seen.because}")
            case _:
                assert_never(seen.glance)
    because = "from scratch: " + ("; ".join(passed) or "nothing was saved yet")
    return chosen(choice.origin, None, because, now=now, again=choice.again)


def chosen(
    origin: Message, step: Step | None, because: str, *, now: datetime, again: EventId | None = None
) -> CheckpointChosen:
    """Return the answer to the verdict ``origin``: one, and one more for each time that it is asked ``again``."""
    return CheckpointChosen(
        id=consequence_id("CheckpointChosen", origin.id, subject=again or ""),
        **envelope(origin, time=now),
        step=None if step is None else step.step,
        path=None if step is None else step.path,
        because=because,
    )
