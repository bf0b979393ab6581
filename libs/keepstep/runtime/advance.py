"""Folding a run of messages of one key: pure, so that it can be done again after a lost compare-and-set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from keepstep.contracts.events import DeadlinePassed
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core.decision import Deadline, Effect
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.fold import Fold
from keepstep.runtime.folds import Folds
from keepstep.runtime.restating import is_restatement, restate, restatement_deadline
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


def kinds_of(stage: Stage[S]) -> tuple[str, ...]:
    """Return the names of the types to be delivered to the stage; none if it is given every type."""
    return () if stage.counts_unknown else tuple(kind.__name__ for kind in hears_of(stage))


def wants_of(stage: Stage[S], fold: Fold[S]) -> Wants:
    """Return what a fold waits for and wants done; one that is over is not worth restating."""
    again = () if stage.over(fold.state) else (restatement_deadline(fold.restated),)
    return Wants((*stage.deadlines(fold.state), *again), tuple(stage.effects(fold.state)))


def drop_if_over(stage: Stage[S], folds: Folds[S], key: str) -> None:
    """Drop the key's fold if it is over and all that it made the service say is said."""
    fold = folds.get(key)
    if fold is not None and fold.said and stage.over(fold.state):
        folds.drop(key)


def advance(stage: Stage[S], key: str, fold: Fold[S] | None, steps: Sequence[Step]) -> Advance[S]:
    """Decide on the messages in order, leaving out those the fold has applied, up to the first that raises.

    A restatement ends the run: where it is in the stream, all that its fold made the service say is, too. What the
    fold wants is asked once, at the end; a fold that cannot tell is the fault of the last message in it.
    """
    known = fold
    because: list[tuple[Message, str]] = []
    taken = 0
    with guarded() as outcome:
        for step in steps:
            if known is None or step.sequence > known.applied:
                following, reason = _follow(stage, key, known, step)
                if following is not None and known is not fold and known is not None:
                    following = replace(following, outbox=known.outbox + following.outbox)
                known = following
                if reason:
                    because.append((step.message, reason))
            taken += 1
            if is_restatement(stage.service, step.message):
                break
    if known is None or known is fold:
        return Advance(None, taken, Wants(), tuple(because), outcome.error)
    with guarded() as telling:
        wants = wants_of(stage, known)
    if telling.error is not None:
        before = advance(stage, key, fold, steps[: taken - 1])
        return replace(before, error=before.error or telling.error)
    return Advance(replace(known, said=not known.outbox), taken, wants, tuple(because), outcome.error)


def _follow(stage: Stage[S], key: str, fold: Fold[S] | None, step: Step) -> tuple[Fold[S] | None, str]:
    """Return the fold after one more message, with what that one made it say, and the reason."""
    if is_restatement(stage.service, step.message):
        return _restated(stage, key, fold, step), ""
    decision = stage.decide(None if fold is None else fold.state, step.message, step.time)
    job = None if fold is None else fold.job
    if step.message.job is not None and step.message.job.uid == key:
        job = step.message.job
    restated = step.time if fold is None else fold.restated
    return Fold(decision.state, step.sequence, decision.says, job, restated=restated), decision.because


def _restated(stage: Stage[S], key: str, fold: Fold[S] | None, step: Step) -> Fold[S] | None:
    """Return the fold with its restatement to be said; a fold that was dropped, or restated since, says nothing."""
    if fold is None:
        return None
    due = restatement_deadline(fold.restated).due
    current = replace(fold, applied=step.sequence, outbox=())
    if not isinstance(step.message, DeadlinePassed) or step.message.due != due:
        return current
    current = replace(current, restated=step.time)
    return replace(current, outbox=(restate(stage.service, key, current, step.message, step.time),))
