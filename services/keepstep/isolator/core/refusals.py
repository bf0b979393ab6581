"""Why a verdict isolates nothing: checks in order, each a sentence or "", the first sentence is the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from keepstep.contracts.events import FaultDiagnosed
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import instant
from keepstep.contracts.policy import IsolationPolicy
from keepstep.contracts.taxonomy import Category, LossCause
from keepstep.core.sentences import counted
from keepstep.isolator.core.guard import limit
from keepstep.isolator.core.state import Asker, Isolations, place_of

NEVER = frozenset(
    {
        Category.USER_CODE,
        Category.USER_CONFIG,
        Category.DATA,
        Category.UNKNOWN,
        Category.PREEMPTED,
        Category.DELETED,
    }
)
"""Categories that say nothing about hardware: whatever the rule asks, they isolate nothing (DESIGN section 4)."""


RETURNS = frozenset({f"task-{LossCause.NODE_LOST.replace('_', '-')}"})
"""Rules of lost nodes: each comes back by itself once it is there and ready again, and none goes out while the
detector is blind."""
BLIND_FOR = timedelta(hours=1)
"""A detector that restarts while it is blind never says that it sees again; nobody is blind unseen for longer."""


@dataclass(frozen=True)
class Case:
    """A verdict, and what it is judged by."""

    fold: Isolations
    message: FaultDiagnosed
    policy: IsolationPolicy
    now: datetime

    @property
    def node(self) -> NodeName | None:
        """The node the verdict blames; that of the blamed task or rank where it names no node itself."""
        culprit = self.message.verdict.culprit
        return None if culprit is None else culprit.node or self.message.node

    @property
    def device(self) -> str | None:
        """The device of that node that the verdict blames."""
        culprit = self.message.verdict.culprit
        return None if culprit is None else culprit.device


@dataclass(frozen=True)
class Refusal:
    """The sentence, and whether it is a dry run or the hold of a storm that keeps the node in."""

    because: str
    dry_run: bool = False
    held: bool = False

    @property
    def how(self) -> dict[str, bool]:
        """What the answer says of it beside the sentence."""
        return {"dry_run": self.dry_run, "held": self.held}


def refusal(case: Case) -> Refusal | None:
    """Return why nothing is isolated for this verdict, or None when the fleet is to be asked."""
    for check in CHECKS:
        because = check(case)
        if because:
            return Refusal(because, held=check is _storm)
    dry = _dry_run(case)
    return Refusal(dry, dry_run=True) if dry else None


def _not_asked(case: Case) -> str:
    verdict = case.message.verdict
    if verdict.isolate and verdict.category not in NEVER:
        return ""
    return f"a verdict of {verdict.category} by rule {verdict.rule} isolates nothing"


def _nobody_named(case: Case) -> str:
    return "" if case.node else f"rule {case.message.verdict.rule} names no node"


def _disabled(case: Case) -> str:
    return "" if case.policy.enabled else "isolation is off by policy"


def _paused(case: Case) -> str:
    job = "" if case.message.job is None else case.message.job.uid
    by = case.fold.paused.get("") or case.fold.paused.get(job)
    return f"actions are paused by {by}" if by else ""


def _blind(case: Case) -> str:
    blind = case.fold.blind
    if blind is None or case.message.verdict.rule not in RETURNS or case.now >= blind.since + BLIND_FOR:
        return ""
    return f"the detector is blind since {instant(blind.since)}: {blind.because}"


def _already(case: Case) -> str:
    if case.node is None:
        return ""
    known = case.fold.isolations
    there = known.get(case.node) or known.get(place_of(case.node, case.device))
    return "" if there is None else f"{there.place} is already isolated since {instant(there.since)}: {there.reason}"


def _storm(case: Case) -> str:
    policy, window = case.policy, case.policy.storm_window.total_seconds()
    count = sum(when > case.now - policy.storm_window for when in case.fold.recent)
    count += sum(one.asker is Asker.RULE for one in case.fold.requests)
    if count < policy.storm_count:
        return ""
    return f"held for a person: {count} isolations in {window:.0f} s, limit {policy.storm_count}"


def _job_guard(case: Case) -> str:
    job = None if case.message.job is None else case.fold.jobs.get(case.message.job.uid)
    if job is None:
        return ""
    key = case.message.key
    isolated = {one.node for one in case.fold.isolations.values() if one.origin.key == key}
    asked = {one.node for one in case.fold.requests if one.origin.key == key}
    out = (isolated | asked) - {case.node}
    most = limit(case.policy.job_share, job.nodes)
    if len(out) + 1 <= most:
        return ""
    return f"guard: {counted(len(out), 'node', of=job.nodes)} of the job out, at most {most} may be"


def _dry_run(case: Case) -> str:
    rule = case.message.verdict.rule
    if not case.policy.dry_run & {rule, "*"}:
        return ""
    return f"dry run of rule {rule}: would isolate {case.node}: {case.message.verdict.because}"


CHECKS: tuple[Callable[[Case], str], ...] = (
    _not_asked,
    _nobody_named,
    _disabled,
    _paused,
    _blind,
    _already,
    _storm,
    _job_guard,
)
