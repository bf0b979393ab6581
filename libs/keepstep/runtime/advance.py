"""Folding a run of messages of one key: pure, so that it can be done again after a lost compare-and-set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from keepstep.contracts.events import DeadlinePassed
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core.decision import Deadline, Effect
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.folds import Fold
from keepstep.runtime.stage import Stage

S = TypeVar("S", bound=Frozen)


@dataclass(frozen=True)
class Step:
    """One message of the run: its sequence, its time in the stream, and what it says."""

    sequence: int
    time: datetime
    message: Message


@dataclass(frozen=True)
class Wants:
    """What a fold waits for and wants done."""

    deadlines: tuple[Deadline, ...] = ()
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True)
class Advance(Generic[S]):
    """How far the run got: the next fold (None: nothing to write), how many messages are in it, what it wants.

    ``error`` is what stopped it before the message after those taken.
    """

    fold: Fold[S] | None
    taken: int
    wants: Wants
    because: tuple[tuple[Message, str], ...]
    error: Exception | None


def fold_key(stage: Stage[S], message: Message) -> str | None:
    """Return the fold a message belongs to: its scope for this service's own deadlines, else what the stage says."""
    if isinstance(message, DeadlinePassed):
        return message.scope if message.service is stage.service else None
    return stage.fold_key(message)


def hears_of(stage: Stage[S]) -> tuple[type[Message], ...]:
    """Return what the stage hears; its own deadlines are heard without being listed."""
    return (*stage.hears, DeadlinePassed)


def wants_of(stage: Stage[S], state: S) -> Wants:
    """Return what a state waits for and wants done."""
    return Wants(tuple(stage.deadlines(state)), tuple(stage.effects(state)))


def advance(stage: Stage[S], key: str, fold: Fold[S] | None, steps: Sequence[Step]) -> Advance[S]:
    """Decide on the messages in order, leaving out those the fold has applied, up to the first that raises."""
    applied = 0 if fold is None else fold.applied
    state = None if fold is None else fold.state
    job = None if fold is None else fold.job
    wants = Wants()
    says: tuple[Message, ...] = ()
    because: list[tuple[Message, str]] = []
    taken = 0
    with guarded() as outcome:
        for step in steps:
            if step.sequence > applied:
                decision = stage.decide(state, step.message, step.time)
                wants = wants_of(stage, decision.state)
                state, applied, says = decision.state, step.sequence, says + decision.says
                if step.message.job is not None and step.message.job.uid == key:
                    job = step.message.job
                if decision.because:
                    because.append((step.message, decision.because))
            taken += 1
    fresh = state is not None and (fold is None or applied > fold.applied)
    following = Fold(state, applied, says, job, said=not says) if fresh and state is not None else None
    return Advance(following, taken, wants, tuple(because), outcome.error)
