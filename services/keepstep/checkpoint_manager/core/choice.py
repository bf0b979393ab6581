"""Which steps may be chosen for a verdict: whole ones that loaded before and that the ranks can still read."""

from keepstep.checkpoint_manager.core.state import Checkpoints, Choice, Step
from keepstep.contracts.events import FaultDiagnosed, Verdict
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.taxonomy import Category
from keepstep.core.sentences import counted

NODE_GONE = frozenset(
    {
        Category.NODE_HARDWARE,
        Category.DEVICE_HARDWARE,
        Category.DEVICE_DRIVER,
        Category.DELETED,
        Category.PREEMPTED,
    }
)
"""Verdicts after which the culprit's ranks move, so that files kept on its node are lost to them."""
TOLD = 3
"""Passed-over steps named in the answer: a person reads the sentence."""


def choice_of(fold: Checkpoints, verdict: FaultDiagnosed) -> Choice:
    """Return the verdict as it waits for its answer, with why newer steps are passed over."""
    lost = _lost_node(verdict.verdict)
    candidates: list[int] = []
    passed: list[str] = []
    for step in fold.steps:
        reason = _unfit(step, fold, lost)
        if not reason:
            candidates.append(step.step)
        elif not candidates:
            passed.append(f"step {step.step} {reason}")
    origin = Message(id=verdict.id, **envelope(verdict, cause=verdict.cause))
    return Choice(origin=origin, candidates=tuple(candidates), passed_over="; ".join(passed[:TOLD]))


def held(ranks: int, world: int | None) -> str:
    """Return how many ranks a step holds, of how many if that is known."""
    return f"holds {counted(ranks, 'rank', of=world)}"


def _unfit(step: Step, fold: Checkpoints, lost: NodeName | None) -> str:
    """Return why this step cannot be resumed from, or ""."""
    if step.bad:
        return "did not load"
    if not step.whole:
        return held(len(step.ranks), fold.world_size)
    nodes = fold.nodes
    away = sum(not part.on(nodes, without=lost) for part in step.parts)
    return f"keeps {away} of {len(step.parts)} parts on nodes that its ranks left" if away else ""


def _lost_node(verdict: Verdict) -> NodeName | None:
    if verdict.culprit is None or not (verdict.isolate or verdict.category in NODE_GONE):
        return None
    return verdict.culprit.node
