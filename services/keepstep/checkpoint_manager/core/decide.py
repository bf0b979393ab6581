"""Which checkpoint is whole, and which ones may be chosen for a verdict."""

from collections.abc import Iterable
from datetime import datetime
from functools import singledispatch

from keepstep.checkpoint_manager.core.choice import choice_of, held
from keepstep.checkpoint_manager.core.look import chosen
from keepstep.checkpoint_manager.core.state import ANSWERED, Checkpoints, Choice, Part, Step, Verify, Wake
from keepstep.contracts.events import (
    ActionsResumed,
    CheckpointChosen,
    CheckpointCommitted,
    CheckpointSaved,
    FaultDiagnosed,
    IncidentClosed,
    IncidentOpened,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobFreed,
    JobStarted,
    JobStopRequested,
    JobSucceeded,
    RanksStarted,
    RecoveryStarted,
    TaskLost,
)
from keepstep.contracts.ids import NodeName, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.core import forgetting, placement
from keepstep.core.decision import Deadline, Decision
from keepstep.core.forgetting import forget_at, recalled

NOWHERE = NodeName("")
"""Where a rank runs whose task is lost."""
WOKEN = 2
"""Steps looked at ahead of a verdict: the newest, and the one that is taken where the newest is damaged."""


def fold_key(message: Message) -> str | None:
    """Return the job's uid; messages without a job are not for this stage."""
    return None if message.job is None else message.job.uid


def decide(fold: Checkpoints | None, message: Message, now: datetime) -> Decision[Checkpoints]:
    """Return the next fold of the job and what is to be said; the same message again changes nothing.

    A verdict on a job that is over is answered like any other: somebody waits for both answers.
    """
    state = recalled(fold, Checkpoints(), message, now)
    if state.ended and not isinstance(message, FaultDiagnosed | CheckpointChosen):
        return Decision(state)
    return _hear(message, state, now)


def deadlines(fold: Checkpoints) -> Iterable[Deadline]:
    """Return when an ended job is forgotten."""
    return () if fold.forgotten else forget_at(fold.ended_at)


def over(fold: Checkpoints) -> bool:
    """Tell whether the fold may be dropped."""
    return fold.forgotten


def effects(fold: Checkpoints) -> Iterable[Wake | Verify]:
    """Return one look per verdict that waits for its answer, and one ahead of a verdict that is awaited."""
    if fold.suspected is not None:
        yield Wake(fold.suspected, tuple(step for step in fold.steps if step.whole and not step.bad)[:WOKEN])
    for choice in fold.choices:
        steps = (step for step in fold.steps if step.step in choice.candidates)
        yield Verify(choice, tuple(step for step in steps if step.whole and not step.bad))


@singledispatch
def _hear(_message: Message, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    return Decision(fold)


@_hear.register
def _accepted(message: JobAccepted, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    return Decision(fold.model_copy(update={"world_size": message.spec.world_size}))


@_hear.register
def _saved(message: CheckpointSaved, fold: Checkpoints, now: datetime) -> Decision[Checkpoints]:
    step = _edition(fold, message)
    if step is None:
        return Decision(fold)
    covered, world = len(step.ranks), fold.world_size
    if world is None or not step.ranks.issuperset(range(world)):
        return Decision(fold.with_step(step), because=f"step {step.step} {held(covered, world)}")
    committed = CheckpointCommitted(
        id=consequence_id("CheckpointCommitted", message.id, subject=str(step.step)),
        **envelope(message, time=now),
        step=step.step,
        path=step.path,
        files=step.files,
    )
    whole = step.model_copy(update={"whole": True})
    return Decision(fold.with_step(whole), (committed,), f"step {step.step} {held(world, world)}")


def _edition(fold: Checkpoints, saved: CheckpointSaved) -> Step | None:
    """Return the step with the new part, or None when it tells nothing new or comes late.

    A part written in a later generation starts a new edition: a resumed run that writes the step again must never be
    loaded half from the new files and half from the old ones.
    """
    part, known = Part.of(saved), fold.find(saved.step)
    generation = _generation(part, fold, saved)
    if known is None or generation > known.generation:
        again = known is not None and any(part.same_content(one) for one in known.parts)
        return None if again else Step(step=saved.step, generation=generation, parts=(part,))
    if generation < known.generation or any(part.same_content(one) for one in known.parts):
        return None
    others = tuple(one for one in known.parts if not one.ranks <= part.ranks)
    return known.model_copy(update={"parts": (*others, part), "whole": False})


def _generation(part: Part, fold: Checkpoints, saved: CheckpointSaved) -> int:
    """Return the generation that wrote the part.

    Agents find files of an earlier one again after a restart, and may not know the current one yet.
    """
    told = saved.generation or fold.generation
    if part.written is None or fold.renewed is None or part.written >= fold.renewed:
        return told
    return min(told, fold.generation - 1)


@_hear.register
def _diagnosed(message: FaultDiagnosed, fold: Checkpoints, now: datetime) -> Decision[Checkpoints]:
    if message.id in fold.answered or any(one.origin.id == message.id for one in fold.choices):
        return Decision(fold)
    fold = fold.model_copy(update={"suspected": None, "verdict": message})
    fold = _with_bad(fold, message.verdict.bad_checkpoint)
    return _asked(fold, choice_of(fold, message), now)


@_hear.register(ActionsResumed)
@_hear.register(JobFreed)
def _goes_on(message: ActionsResumed | JobFreed, fold: Checkpoints, now: datetime) -> Decision[Checkpoints]:
    """Answer the verdict again that waited for people: what was saved meanwhile may be newer than the answer."""
    verdict = fold.verdict
    if verdict is None or verdict.id not in fold.answered or message.id in fold.answered:
        return Decision(fold)
    fold = fold.model_copy(update={"answered": (*fold.answered, message.id)[-ANSWERED:]})
    return _asked(fold, choice_of(fold, verdict).model_copy(update={"again": message.id}), now)


def _asked(fold: Checkpoints, choice: Choice, now: datetime) -> Decision[Checkpoints]:
    """Return a decision to look at what may be chosen, or the answer where there is nothing."""
    if choice.candidates:
        return Decision(
            fold.model_copy(update={"choices": (*fold.choices, choice)}),
            because=f"{len(choice.candidates)} whole checkpoints may be chosen, newest {choice.candidates[0]}",
        )
    nothing = "the job is over" if fold.ended else choice.passed_over or "nothing was saved yet"
    answer = chosen(choice.origin, None, f"from scratch: {nothing}", now=now, again=choice.again)
    return Decision(_answered(fold, answer), (answer,), answer.because)


def _with_bad(fold: Checkpoints, step: int | None) -> Checkpoints:
    known = None if step is None else fold.find(step)
    return fold if known is None else fold.with_step(known.model_copy(update={"bad": True}))


@_hear.register
def _chosen(message: CheckpointChosen, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    return Decision(_answered(fold, message))


def _answered(fold: Checkpoints, answer: CheckpointChosen) -> Checkpoints:
    if answer.cause is None:
        return fold
    left = tuple(one for one in fold.choices if one.origin.id != answer.cause)
    known = tuple(one for one in fold.answered if one != answer.cause)
    return fold.model_copy(update={"choices": left, "answered": (*known, answer.cause)[-ANSWERED:]})


@_hear.register(JobStarted)
@_hear.register(RanksStarted)
def _started(message: JobStarted | RanksStarted, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    return Decision(placement.placed(fold, message))


@_hear.register
def _renewed(message: RecoveryStarted, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    if message.to_generation <= fold.generation:
        return Decision(fold)
    newer = {"generation": message.to_generation, "renewed": message.time, "verdict": None}
    return Decision(fold.model_copy(update=newer))


@_hear.register
def _lost(message: TaskLost, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    seat = fold.tasks.get(message.ref.uid)
    if seat is None:
        return Decision(fold)
    gone = seat.model_copy(update={"node": NOWHERE})
    return Decision(fold.model_copy(update={"tasks": {**fold.tasks, message.ref.uid: gone}}))


@_hear.register
def _opened(message: IncidentOpened, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    """Get ready for the choice.

    What is saved from now on by ranks that still run may be chosen like anything else: an agent tells of files only
    once all of them stand still and load, so that a save which the fault cut short is never among them.
    """
    return Decision(fold.model_copy(update={"suspected": message.id}))


@_hear.register
def _closed(_message: IncidentClosed, fold: Checkpoints, _now: datetime) -> Decision[Checkpoints]:
    return Decision(fold.model_copy(update={"suspected": None, "verdict": None}))


@_hear.register(JobSucceeded)
@_hear.register(JobFailed)
@_hear.register(JobStopRequested)
@_hear.register(JobDeleted)
def _ended(
    _message: JobSucceeded | JobFailed | JobStopRequested | JobDeleted, fold: Checkpoints, now: datetime
) -> Decision[Checkpoints]:
    """Answer what waits, and keep only what was answered."""
    answers = tuple(chosen(one.origin, None, "from scratch: the job is over", now=now) for one in fold.choices)
    for answer in answers:
        fold = _answered(fold, answer)
    because = f"the job is over: {len(answers)} answered on the way" if answers else ""
    return Decision(forgetting.ended(Checkpoints(answered=fold.answered), now), answers, because)


HEARS: tuple[type[Message], ...] = tuple(kind for kind in _hear.registry if kind not in (object, Message))
"""Exactly the messages that something above is registered for."""
