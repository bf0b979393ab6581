"""The two ways every kind is restarted by: replace lost pods, or stop the job and let it go on.

What they share are the rules that keep two processes of one rank apart: nothing is forced away, and nothing goes on,
while a pod may still run on a node that does not answer and is not proved dead.
"""

from collections.abc import Sequence
from dataclasses import replace

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_node import OUT_OF_SERVICE
from keepstep.adapters.kube_plan import (
    Await,
    Awaited,
    Cost,
    Delete,
    Evict,
    Expected,
    Ground,
    Patch,
    RestartPlan,
    Scene,
    Step,
    Verb,
    names,
    pod_ref,
)
from keepstep.adapters.kube_pod import Pod, PodPhase
from keepstep.adapters.kube_view import JobView, Refusal, Until
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level


def obstacle(level: Level, pods: Sequence[Pod], ground: Ground, *, tracked: bool = False) -> Refusal | None:
    """Return why these pods cannot be taken away now, None when they can.

    ``tracked``: the kind's finalizer outlives a forced deletion, so a dead node must be out of service as well.
    """
    for pod in pods:
        if not ground.silent(pod.node) or pod.over:
            continue
        if not ground.dead(pod.node):
            return Refusal(
                level,
                f"pod {pod.name} is on node {pod.node}, which does not answer and is not proved dead: it may still run",
                f"fence {pod.node}, or set taint {OUT_OF_SERVICE} on it once it is known to be off",
                Until.PROVED,
            )
        node = ground.nodes.get(pod.node) if pod.node is not None else None
        if tracked and node is not None and not node.out_of_service:
            return Refusal(
                level,
                f"pod {pod.name} hangs on node {pod.node} and podReplacementPolicy Failed holds it by a finalizer",
                f"set taint {OUT_OF_SERVICE} on {pod.node}",
                Until.PROVED,
            )
    return None


def unfenced(level: Level, ground: Ground) -> Refusal | None:
    """Return the refusal while a node to avoid would take the new pods, None when all are closed."""
    opened = ground.open()
    return not_closed(level, opened, "isolate it first") if opened else None


def not_closed(level: Level, opened: Sequence[NodeName], remedy: str) -> Refusal:
    """Return the refusal for nodes that would take the new pods."""
    because = f"{', '.join(opened)} would take the new pods: neither cordoned nor tainted"
    return Refusal(level, because, remedy, Until.CLOSED)


def removals(pods: Sequence[Pod], ground: Ground, why: str, *, ended: bool = False) -> tuple[Step, ...]:
    """Return the deletions of these pods: forced where the node is dead, graceful elsewhere.

    ``ended``: also of those whose containers ended, for a controller that makes a pod again only once it is gone.
    """
    return tuple(
        Delete(pod_ref(pod), why, force=ground.silent(pod.node) and not pod.over)
        for pod in pods
        if ended or _standing(pod)
    )


def _standing(pod: Pod) -> bool:
    return pod.live or pod.deleted is not None


def replace_pods(view: JobView, scene: Scene, *, cost: Cost, evict: bool = False, ended: bool = False) -> RestartPlan:
    """Return the plan that takes the lost pods away and waits for their successors; all others stay.

    Of the lost ones only those that exist are written to. ``evict`` goes through the eviction API, for jobs that count
    an eviction as nothing.
    """
    pods, ground = scene.pods, scene.ground
    there = {pod.uid for pod in pods}
    taken = [pod for pod in scene.lost if pod.uid in there]
    why = f"replace {names(scene.lost)}"
    evictions = tuple(Evict(pod_ref(pod), why) for pod in taken if evict and pod.live)
    deletions = removals([pod for pod in taken if not evict or ground.silent(pod.node)], ground, why, ended=ended)
    gone = {pod.uid for pod in scene.lost}
    return RestartPlan(
        level=Level.POD,
        verb=Verb.EVICT_PODS if evict else Verb.DELETE_PODS,
        job=view.ref,
        steps=(*evictions, *deletions),
        cost=cost,
        expected=Expected(
            pods=view.size - sum(pod.phase is PodPhase.SUCCEEDED for pod in pods),
            kept=frozenset(pod.uid for pod in pods if pod.live and pod.uid not in gone),
            off=ground.avoid,
        ),
        because=f"{view.words}: {why}; {cost}",
        before=frozenset(there | gone),
        counter=view.counter,
    )


def restart_all(
    view: JobView, scene: Scene, *, verb: Verb, steps: Sequence[Step], cost: Cost, because: str
) -> RestartPlan:
    """Return a plan that makes every pod of the job anew by these steps."""
    return RestartPlan(
        level=Level.JOB,
        verb=verb,
        job=view.ref,
        steps=tuple(steps),
        cost=cost,
        expected=Expected(pods=view.size, off=scene.ground.avoid),
        because=f"{view.words}: {because}; {cost}",
        before=frozenset(pod.uid for pod in scene.pods),
        leaving=frozenset(pod.uid for pod in scene.pods if not pod.live or scene.ground.silent(pod.node)),
        counter=view.counter,
    )


def suspend_and_resume(
    view: JobView,
    scene: Scene,
    *,
    at: tuple[str, ...] = ("spec",),
    between: Sequence[Step] = (),
    left: Awaited = Awaited.NO_PODS,
) -> RestartPlan:
    """Return the plan that suspends the job, clears what hangs, sees no pod left, and resumes it.

    Job-based kinds would run two pods of one index, but delete only those that are active: a Failed one stays for ever.
    ``at``: where the kind keeps ``suspend``. ``left``: which pods must be gone.
    """
    hanging = [pod for pod in scene.hanging if not pod.over or pod.deleted is not None]
    steps: list[Step] = [
        suspended(view, "suspend: the controller deletes all pods and counts nothing", at=at),
        *removals(hanging, scene.ground, "its node is dead and nobody there would end it", ended=True),
        Await(left, "no two pods of one index, and none that fails the job on resume"),
        *between,
        Patch(view.ref, _suspend(at, False), "resume: all pods are made anew"),
    ]
    cleared = f", force away {names(hanging)}" if hanging else ""
    return restart_all(
        view,
        scene,
        verb=Verb.SUSPEND,
        steps=steps,
        cost=Cost(),
        because=f"suspend{cleared}, see no pod left, resume",
    )


def suspended(view: JobView, why: str, *, at: tuple[str, ...] = ("spec",)) -> Patch:
    """Return the write that stops a job; ``at``: where its kind keeps ``suspend``."""
    return Patch(view.ref, _suspend(at, True), why)


def in_place(view: JobView, pods: Sequence[Pod]) -> RestartPlan:
    """Return the plan that touches nothing: ranks restart inside the pods there are."""
    living = frozenset(pod.uid for pod in pods if pod.live)
    return RestartPlan(
        level=Level.IN_PLACE,
        verb=Verb.NOTHING,
        job=view.ref,
        steps=(),
        cost=Cost(),
        expected=Expected(pods=view.size, kept=living),
        because=f"{view.words}: ranks restart inside {len(living)} living pods; {Cost()}",
        before=frozenset(pod.uid for pod in pods),
        counter=view.counter,
    )


def after(plan: RestartPlan, round_before: int) -> RestartPlan:
    """Return the plan with the demand that fresh pods belong to a later making than ``round_before``."""
    return replace(plan, expected=replace(plan.expected, round_above=round_before))


def _suspend(at: tuple[str, ...], said: bool) -> JsonObject:
    body: JsonObject = {"suspend": said}
    for name in reversed(at):
        body = {name: body}
    return body
