"""What one fault says by itself: its category, whom it blames and how much it weighs against the others."""

from collections.abc import Sequence
from enum import IntEnum

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import (
    DeviceEvidence,
    FaultDetected,
    LogEvidence,
    LossEvidence,
    NodeEvidence,
    SilenceEvidence,
    StallEvidence,
    UnkillableEvidence,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category, LossCause, StallSign
from keepstep.contracts.topology import Culprit
from keepstep.diagnosis.lines import signature
from keepstep.diagnosis.rules import RULES, RULES_BY_NAME, Rule


class Weight(IntEnum):
    """How much a finding counts; a lighter one never beats a heavier one, whichever came first."""

    DECISIVE = 0
    """Hardware's own words, or a task known to be gone."""
    CAUSE = 1
    """A rank failed by itself."""
    DOUBTFUL = 2
    """Something is missing, and why is not said; or somebody else says it."""
    CASCADE = 3
    """A rank that lost a peer."""


class Resumed(Frozen):
    """Where the current generation took up the work; both None from scratch or when not known."""

    step: int | None = None
    path: str | None = None


class Finding(Frozen):
    """One fault, weighed. Small whatever the evidence was: a fold keeps some dozens of them."""

    fault: EventId
    occurred: AwareDatetime
    weight: Weight
    rule: str
    category: Category
    culprit: Culprit | None = None
    isolate: bool = False
    retriable: bool = True
    confidence: float = Field(ge=0, le=1)
    because: str
    signature: str
    step: int | None = None
    bad_checkpoint: int | None = None
    hearsay: bool = False
    """Another's word about what lies between it and the one it names."""

    @property
    def order(self) -> tuple[int, AwareDatetime, int, str]:
        """Sorts the first cause to the front, the same whatever order the faults arrived in."""
        rank = -1 if self.culprit is None or self.culprit.rank is None else self.culprit.rank
        return self.weight, self.occurred, rank, self.fault


def place(fault: FaultDetected, *, rank: int | None = None, device: str | None = None) -> Culprit | None:
    """Return the fault's subject as a culprit, or None when nothing of it is known."""
    culprit = Culprit(node=fault.node, task=fault.task, rank=rank, device=device)
    return None if culprit == Culprit() else culprit


def from_rule(fault: FaultDetected, rule: Rule, line: str, *, rank: int | None, step: int | None) -> Finding:
    """Return the finding of a line that a rule matched."""
    own = Weight.DECISIVE if rule.isolate else Weight.CAUSE
    doubtful = Weight.DOUBTFUL if rule.hearsay else own
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.CASCADE if rule.cascade else doubtful,
        rule=rule.name,
        category=rule.category,
        culprit=place(fault, rank=rank),
        isolate=rule.isolate,
        confidence=rule.confidence,
        because=f"{fault.subject_name} said: {signature(line)}",
        signature=signature(line),
        step=step,
        hearsay=rule.hearsay,
    )


def of_log(fault: FaultDetected, seen: LogEvidence) -> Finding:
    """Weigh a matched line. A job's own pattern never isolates: who writes it need not own the hardware."""
    rule = RULES_BY_NAME.get(seen.rule)
    if rule is not None:
        return from_rule(fault, rule, seen.line, rank=seen.rank, step=seen.step)
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.CAUSE,
        rule=seen.rule,
        category=seen.category,
        culprit=place(fault, rank=seen.rank),
        confidence=0.8,
        because=f"{fault.subject_name} printed a line of pattern {seen.rule}: {signature(seen.line)}",
        signature=f"log {seen.rule}",
        step=seen.step,
    )


def of_stall(fault: FaultDetected, seen: StallEvidence) -> Finding:
    """Weigh a stall: state T, D, Z and an outlier name their rank, a hang of all names one that is not waiting."""
    named = seen.sign is not StallSign.NO_PROGRESS or seen.waiting is False
    where = f", in {_where(seen.stack)}" if seen.stack else ""
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.CAUSE if named else Weight.DOUBTFUL,
        rule=f"stall-{seen.sign.value.replace('_', '-')}",
        category=Category.HANG,
        culprit=place(fault, rank=seen.rank) if named else None,
        confidence=0.9 if named else 0.5,
        because=f"{fault.subject_name} made no progress for {seen.stalled_s:.1f} s ({seen.sign.value}{where})",
        signature=f"stall {seen.sign.value}",
        step=seen.step,
    )


def _where(stack: Sequence[str]) -> str:
    """Return where a rank stands, innermost first; behind a library's frame the first that is the job's own."""
    own = next((frame for frame in stack if "/lib/python" not in frame), None)
    return stack[0] if own in (None, stack[0]) else f"{stack[0]}, called from {own}"


_LOSSES: dict[LossCause, tuple[Category, Weight, float]] = {
    LossCause.DELETED: (Category.DELETED, Weight.DECISIVE, 0.97),
    LossCause.EVICTED: (Category.PREEMPTED, Weight.DECISIVE, 0.97),
    LossCause.PREEMPTED: (Category.PREEMPTED, Weight.DECISIVE, 0.97),
    LossCause.DRAINED: (Category.PREEMPTED, Weight.DECISIVE, 0.99),
    LossCause.NODE_LOST: (Category.NODE_HARDWARE, Weight.DECISIVE, 0.97),
    LossCause.LAUNCHER_EXITED: (Category.UNKNOWN, Weight.DECISIVE, 0.7),
    LossCause.OOM_KILLED: (Category.OOM_HOST, Weight.DECISIVE, 0.95),
    LossCause.UNKNOWN: (Category.UNKNOWN, Weight.DOUBTFUL, 0.4),
}
"""A task that is gone explains the exits of its ranks, also those seen a grace period earlier."""


def of_loss(fault: FaultDetected, seen: LossEvidence) -> Finding:
    """Weigh a lost task; only a lost node speaks against hardware."""
    category, weight, confidence = _LOSSES[seen.by]
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=weight,
        rule=f"task-{seen.by.value.replace('_', '-')}",
        category=category,
        culprit=place(fault),
        isolate=seen.by is LossCause.NODE_LOST,
        confidence=confidence,
        because=_gone(fault.subject_name, seen),
        signature=f"task {seen.by.value}",
    )


def _gone(name: str, seen: LossEvidence) -> str:
    if seen.by is LossCause.DRAINED:
        return f"{name} is moved as planned: {seen.text}"
    proof = "its processes are known to be gone" if seen.proven else "whether its processes ended is not known"
    return f"{name} is gone: {seen.by.value}, {proof}" + (f" ({seen.text})" if seen.text else "")


def of_silence(fault: FaultDetected, seen: SilenceEvidence) -> Finding:
    """Weigh a silent agent: it proves nothing about the ranks."""
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.DOUBTFUL,
        rule="agent-silent",
        category=Category.UNKNOWN,
        culprit=place(fault),
        confidence=0.4,
        because=f"{fault.subject_name} was not heard for {seen.silent_s:.1f} s",
        signature="silence",
        step=seen.last_step,
    )


def of_unkillable(fault: FaultDetected, seen: UnkillableEvidence) -> Finding:
    """Weigh ranks that SIGKILL does not end: the kernel or a driver holds them; a second sign is needed to isolate."""
    ranks = ", ".join(map(str, seen.ranks))
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.DECISIVE,
        rule="unkillable",
        category=Category.NODE_HARDWARE,
        culprit=place(fault, rank=seen.ranks[0] if len(seen.ranks) == 1 else None),
        confidence=0.6,
        because=f"rank {ranks} could not be reaped after SIGKILL",
        signature="unkillable",
    )


def of_hardware(fault: FaultDetected, seen: DeviceEvidence | NodeEvidence) -> Finding:
    """Weigh a device's or node's report; only codes that a rule knows as fatal isolate, and hearsay decides nothing."""
    match seen:
        case DeviceEvidence():
            words, category = f"{seen.code} {seen.text}".strip(), Category.DEVICE_HARDWARE
        case NodeEvidence():
            words, category = f"{seen.condition} {seen.text}".strip(), Category.NODE_HARDWARE
    rule = next((rule for rule in RULES if not rule.cascade and rule.pattern.search(words)), None)
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.DOUBTFUL if rule is not None and rule.hearsay else Weight.DECISIVE,
        rule=rule.name if rule is not None else f"{seen.kind}-report",
        category=rule.category if rule is not None else category,
        culprit=place(fault, device=seen.device if isinstance(seen, DeviceEvidence) else None),
        isolate=rule is not None and rule.isolate,
        confidence=rule.confidence if rule is not None else 0.6,
        because=f"{fault.subject_name} reported {signature(words)}",
        signature=signature(words),
        hearsay=rule is not None and rule.hearsay,
    )
