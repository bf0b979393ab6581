"""First cause over cascade: from the weighed faults of one attempt to one verdict."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from keepstep.contracts.events import (
    DeviceEvidence,
    ExitEvidence,
    FaultDetected,
    LogEvidence,
    LossEvidence,
    NodeEvidence,
    SilenceEvidence,
    StallEvidence,
    UnkillableEvidence,
    Verdict,
)
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import Culprit
from keepstep.core.sentences import counted
from keepstep.diagnosis.exits import of_exit
from keepstep.diagnosis.finding import (
    Finding,
    Resumed,
    Weight,
    of_hardware,
    of_log,
    of_loss,
    of_silence,
    of_stall,
    of_unkillable,
)
from keepstep.diagnosis.rules import KERNEL_OOM


def weigh(fault: FaultDetected, resumed: Resumed) -> Finding:  # noqa: PLR0911 - one return per kind of evidence
    """Return what this fault says by itself."""
    match fault.evidence:
        case ExitEvidence():
            return of_exit(fault, fault.evidence, resumed)
        case StallEvidence():
            return of_stall(fault, fault.evidence)
        case SilenceEvidence():
            return of_silence(fault, fault.evidence)
        case LogEvidence():
            return of_log(fault, fault.evidence)
        case LossEvidence():
            return of_loss(fault, fault.evidence)
        case UnkillableEvidence():
            return of_unkillable(fault, fault.evidence)
        case DeviceEvidence() | NodeEvidence():
            return of_hardware(fault, fault.evidence)
        case _:
            assert_never(fault.evidence)


def first_cause(findings: Sequence[Finding], *, quiet: Iterable[Culprit], faults: int, step: int | None) -> Verdict:
    """Return the verdict on one attempt.

    ``findings`` are the heaviest of it in any order, at least one; ``faults`` is how many there were; ``quiet`` are
    the places of ranks that reported nothing; ``step`` is the last completed step that any rank told of.
    """
    first = min(findings, key=lambda found: found.order)
    culprit, confidence, because = first.culprit, first.confidence, first.because
    if first.weight is Weight.CASCADE:
        culprit = _the_one_who_says_nothing(first, tuple(quiet))
        because += _on_victims(culprit, faults)
    elif first.rule == KERNEL_OOM:
        culprit = _killed_beside(first, findings)
    if first.weight is not Weight.CASCADE and faults > 1:
        because += f"; it came before or outweighs {counted(faults - 1, 'other fault')}"
    return Verdict(
        category=first.category,
        culprit=culprit,
        retriable=first.retriable,
        isolate=first.isolate and culprit is not None,
        confidence=confidence,
        because=because,
        rule=first.rule,
        signature=first.signature,
        step=step,
        bad_checkpoint=first.bad_checkpoint,
    )


def _the_one_who_says_nothing(first: Finding, quiet: tuple[Culprit, ...]) -> Culprit | None:
    """When all others are victims, blame the one rank, or the one task, that they lost; a lone stop blames itself."""
    if first.category is Category.UNKNOWN:
        return first.culprit
    if len(quiet) == 1:
        return quiet[0]
    places = {(place.node, place.task) for place in quiet}
    if len(places) != 1:
        return None
    ((node, task),) = places
    return Culprit(node=node, task=task)


def _on_victims(culprit: Culprit | None, faults: int) -> str:
    if culprit is None:
        return f"; all that {counted(faults, 'rank')} could tell of is a lost peer"
    who = f"rank {culprit.rank}" if culprit.rank is not None else f"node {culprit.node}"
    return f"; {counted(faults, 'rank')} told of a lost peer and only {who} says nothing"


def _killed_beside(first: Finding, findings: Sequence[Finding]) -> Culprit | None:
    """The kernel names a process, not a rank: take the first rank that died on its node."""
    if first.culprit is None or first.culprit.rank is not None:
        return first.culprit
    beside = [
        found
        for found in sorted(findings, key=lambda found: found.order)
        if found.culprit is not None and found.culprit.node == first.culprit.node and found.culprit.rank is not None
    ]
    return beside[0].culprit if beside else first.culprit
