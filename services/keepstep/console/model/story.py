"""One incident: its timeline, the verdict of each attempt, the evidence, and what followed from the first cause."""

import re
from collections.abc import Iterable, Mapping

from pydantic import Field

from keepstep.console.views import CascadeLine, EvidenceView
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core.sentences import exit_words
from keepstep.core.timeline import Timeline, grown

EVIDENCE_KEPT = 32
"""Faults of one attempt that are shown one by one: a gang's worth of a node."""
SUBJECTS_SHOWN = 20
LINES_KEPT = 20
WIDTH = 400
"""Characters of a line of evidence: a traceback's line, and not a tensor that was printed."""
GROUPS_KEPT = 32
STACKS_KEPT = 256
_NUMBER = re.compile(r"\d+")


class Attempt(Frozen):
    """What one attempt's verdict rests on."""

    verdict: e.Verdict | None = None
    evidence: tuple[EvidenceView, ...] = ()
    cascade: tuple[CascadeLine, ...] = ()


class Story(Frozen):
    """One incident so far."""

    timeline: Timeline
    attempts: dict[int, Attempt] = Field(default_factory=dict)
    stacks: dict[int, tuple[str, ...]] = Field(default_factory=dict)
    """By rank."""
    accounts: e.Accounts | None = None
    overdue: bool = False
    group: str | None = None


def told(
    story: Story | None, message: Message, faults: Mapping[EventId, e.FaultDetected], tasks: Mapping[TaskUid, str]
) -> Story | None:
    """Return the incident with one more message of it; the same object where that adds nothing, None for no incident.

    ``faults`` are those that were detected lately: a message names them, and only they say what was seen.
    """
    before = None if story is None else story.timeline
    timeline = grown(before, message, faults, tasks)
    if timeline is None or timeline is before:
        return story
    story = Story(timeline=timeline) if story is None else story.model_copy(update={"timeline": timeline})
    match message:
        case e.IncidentOpened():
            found = _attempt(None, [faults[message.fault]] if message.fault in faults else [])
            return story.model_copy(update={"attempts": {**story.attempts, 0: found}})
        case e.FaultDiagnosed():
            claimed = [faults[name] for name in message.faults if name in faults]
            attempts = {number: one for number, one in story.attempts.items() if number != 0}
            attempts[message.attempt] = _attempt(message.verdict, claimed) if claimed else _judged(story, message)
            return story.model_copy(update={"attempts": attempts})
        case e.EvidenceCaptured(what="stack") if len(story.stacks) < STACKS_KEPT or message.rank in story.stacks:
            stacks = {**story.stacks, message.rank: cut(message.lines)}
            return story.model_copy(update={"stacks": stacks})
        case _:
            return _standing(story, message)


def _judged(story: Story, message: e.FaultDiagnosed) -> Attempt:
    """Return the attempt with its verdict, where the faults that it names are no longer known."""
    known = story.attempts.get(message.attempt) or story.attempts.get(0) or Attempt()
    return known.model_copy(update={"verdict": message.verdict})


def _standing(story: Story, message: Message) -> Story:
    match message:
        case e.IncidentOverdue():
            return story.model_copy(update={"overdue": True})
        case e.NodeIsolated() | e.DeviceIsolated() | e.IsolationDeclined():
            return story.model_copy(update={"group": message.group or story.group})
        case e.IncidentClosed():
            closed = {"accounts": message.accounts, "group": message.group or story.group, "overdue": False}
            return story.model_copy(update=closed)
        case _:
            return story


def _attempt(verdict: e.Verdict | None, faults: Iterable[e.FaultDetected]) -> Attempt:
    """Part the faults into what the verdict rests on and what followed from it, which is folded."""
    evidence: list[EvidenceView] = []
    cascade: dict[str, CascadeLine] = {}
    for fault in faults:
        blamed = verdict is not None and _is_of(fault, verdict)
        alone = blamed or verdict is None or verdict.culprit is None or not _is_symptom(fault)
        if alone and len(evidence) < EVIDENCE_KEPT:
            evidence.append(_evidence(fault, blamed=blamed))
        else:
            _fold(cascade, fault)
    return Attempt(verdict=verdict, evidence=tuple(evidence), cascade=tuple(cascade.values()))


def _is_of(fault: e.FaultDetected, verdict: e.Verdict) -> bool:
    """Return whether the fault is the culprit's own: of its rank, its device, its task, or the node that is blamed."""
    culprit, evidence = verdict.culprit, fault.evidence
    if culprit is None:
        return False
    match evidence:
        case e.ExitEvidence() | e.StallEvidence() | e.LogEvidence():
            return evidence.rank == culprit.rank
        case e.UnkillableEvidence():
            return culprit.rank in evidence.ranks
        case e.DeviceEvidence():
            return evidence.device == culprit.device
        case _:
            return fault.task == culprit.task if culprit.task is not None else fault.node == culprit.node


def _is_symptom(fault: e.FaultDetected) -> bool:
    return isinstance(fault.evidence, e.ExitEvidence | e.StallEvidence | e.LogEvidence)


def _fold(cascade: dict[str, CascadeLine], fault: e.FaultDetected) -> None:
    text = symptom(fault)
    key = _NUMBER.sub("#", text)
    if key not in cascade and len(cascade) >= GROUPS_KEPT:
        key, text = "", "and others"
    known = cascade.get(key)
    if known is None:
        cascade[key] = CascadeLine(text=text, count=1, subjects=(fault.subject_name,), first=fault.occurred)
        return
    subjects = (*known.subjects, fault.subject_name)[:SUBJECTS_SHOWN]
    grown_by = {"count": known.count + 1, "subjects": subjects, "first": min(known.first, fault.occurred)}
    cascade[key] = known.model_copy(update=grown_by)


def symptom(fault: e.FaultDetected) -> str:
    """Return what a fault looked like, without whose it is: equal for all who suffer the same."""
    match fault.evidence:
        case e.ExitEvidence() as one:
            last = next((line.strip() for line in reversed(one.last_lines) if line.strip()), "")
            return f"exited {exit_words(one.exit)}" + (f": {last[:WIDTH]}" if last else "")
        case e.StallEvidence() as one:
            return f"stalled, {one.sign}" + (" in a collective" if one.waiting else "")
        case e.LogEvidence() as one:
            return f"printed what rule {one.rule} looks for"
        case _:
            return fault.because[:WIDTH]


def _evidence(fault: e.FaultDetected, *, blamed: bool) -> EvidenceView:
    lines: tuple[str, ...] = ()
    match fault.evidence:
        case e.ExitEvidence() as one:
            lines = one.last_lines
        case e.StallEvidence() as one:
            lines = one.stack
        case e.LogEvidence() as one:
            lines = (one.line,)
        case _:
            pass
    return EvidenceView(
        at=fault.occurred,
        subject=fault.subject_name,
        kind=fault.evidence.kind,
        text=fault.because[:WIDTH],
        lines=cut(lines),
        blamed=blamed,
    )


def cut(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the last lines, each as long as it is shown."""
    return tuple(line[:WIDTH] for line in lines[-LINES_KEPT:])
