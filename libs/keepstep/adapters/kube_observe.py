"""Whether a restart took: judged by uids, nodes and counters that were seen, never by the answer to a write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from keepstep.adapters.kube_plan import RestartPlan, Verb, names
from keepstep.adapters.kube_pod import Pod, PodPhase
from keepstep.adapters.kube_view import JobPhase, JobView
from keepstep.contracts.taxonomy import Level

CONFIRM = timedelta(seconds=30)
"""A Volcano Command shows within 2 s, 10 s under load; after this it was lost (at-most-once) and may be sent again."""


class Seen(StrEnum):
    """How far a restart is."""

    WAITING = "waiting"
    UNTOUCHED = "untouched"
    """Nothing changed since it was asked for: to ask again is safe."""
    DONE = "done"
    FAILED = "failed"


class Hold(StrEnum):
    """What a restart waits for."""

    NOTHING = "nothing"
    UNSCHEDULABLE = "unschedulable"
    TERMINATING = "terminating"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Progress:
    """What was seen of a restart."""

    seen: Seen
    because: str
    hold: Hold = Hold.NOTHING
    spent: int = 0
    """What the job's own counter rose by; a plan that said less was wrong."""
    told: bool = False
    """Only people can bring what is waited for: they are to be told."""


def observed(
    plan: RestartPlan, view: JobView | None, pods: Sequence[Pod], *, since: datetime, now: datetime
) -> Progress:
    """Return how the restart stands. ``since``: when its first step was written; ``view`` None: the job is gone."""
    if view is None:
        return Progress(Seen.FAILED, f"{plan.job} is gone")
    if view.ref.uid != plan.job.uid:
        return Progress(Seen.FAILED, f"{plan.job} was made anew: uid {view.ref.uid}, planned for {plan.job.uid}")
    spent = view.counter - plan.counter
    if view.phase is JobPhase.SUCCEEDED:
        return Progress(Seen.DONE, f"{plan.job} succeeded meanwhile", spent=spent)
    if view.phase is JobPhase.FAILED:
        return Progress(Seen.FAILED, f"{plan.job} failed: {view.said or 'no reason given'}", spent=spent)
    return _pods_seen(plan, view, pods, late=now - since, spent=spent)


def _pods_seen(plan: RestartPlan, view: JobView, pods: Sequence[Pod], *, late: timedelta, spent: int) -> Progress:
    live = [pod for pod in pods if pod.live]
    fresh = [pod for pod in live if pod.uid not in plan.before and _new_enough(pod, plan)]
    strayed = [pod for pod in fresh if pod.node in plan.expected.off]
    if strayed:
        where = ", ".join(sorted({str(pod.node) for pod in strayed}))
        return Progress(Seen.FAILED, f"{names(strayed)} came to {where}, which was to be avoided", spent=spent)
    gone = plan.expected.kept - {pod.uid for pod in live}
    if gone:
        return Progress(
            Seen.FAILED, f"{len(gone)} of {len(plan.expected.kept)} pods that were to stay went", spent=spent
        )
    there = [pod for pod in live if pod.uid in plan.expected.kept] + fresh
    running = {pod.seat or pod.uid for pod in there if pod.phase is PodPhase.RUNNING}
    if len(running) >= plan.expected.pods and not _still_old(plan, live):
        return Progress(
            Seen.DONE, f"{len(running)} of {plan.expected.pods} pods run, {len(fresh)} of them new", spent=spent
        )
    return _held(plan, view, pods, progress=f"{len(running)} of {plan.expected.pods} pods run", late=late, spent=spent)


def _new_enough(pod: Pod, plan: RestartPlan) -> bool:
    return plan.expected.round_above is None or pod.round > plan.expected.round_above


def _still_old(plan: RestartPlan, live: Sequence[Pod]) -> bool:
    """Return whether a pod that was to go still lives."""
    return plan.level is not Level.IN_PLACE and any(
        pod.uid in plan.before and pod.uid not in plan.expected.kept for pod in live
    )


def _held(
    plan: RestartPlan, view: JobView, pods: Sequence[Pod], *, progress: str, late: timedelta, spent: int
) -> Progress:
    hold, why = _hold(pods)
    said = f"{progress} after {late.total_seconds():g} s{why}"
    if late >= plan.expected.within:
        return Progress(Seen.FAILED, f"{said}; limit {plan.expected.within.total_seconds():g} s", hold, spent)
    untouched = plan.before - plan.leaving <= {pod.uid for pod in pods if pod.live} and not spent
    if plan.verb is Verb.COMMAND and untouched and view.phase is not JobPhase.RESTARTING and late >= CONFIRM:
        return Progress(Seen.UNTOUCHED, f"{said}; the command left no trace: same pods, counter {view.counter}", hold)
    return Progress(Seen.WAITING, said, hold, spent)


def _hold(pods: Sequence[Pod]) -> tuple[Hold, str]:
    stuck = [pod for pod in pods if pod.waiting is not None and pod.live]
    if stuck and stuck[0].waiting is not None:
        return Hold.IMAGE, f"; {stuck[0].name} waits: {stuck[0].waiting.reason}"
    ending = [pod for pod in pods if pod.deleted is not None]
    if ending:
        return Hold.TERMINATING, f"; {names(ending)} still terminating"
    for pod in pods:
        if pod.live and pod.unscheduled is not None and pod.unscheduled.reason == "Unschedulable":
            return Hold.UNSCHEDULABLE, f"; no node takes {pod.name}: {pod.unscheduled.message}"
    return Hold.NOTHING, ""
