"""What a restart order comes to on the ground: nothing to write, a reason to wait, or a plan; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from keepstep.adapters.kube_binding import task_of
from keepstep.adapters.kube_kinds import kind_of, restart_plan
from keepstep.adapters.kube_node import Node
from keepstep.adapters.kube_plan import Cost, Ground, RestartPlan, Scene, Verb, names
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_steps import removals, restart_all
from keepstep.adapters.kube_view import JobPhase, JobView, Refusal, Until
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level
from keepstep.ports.controllers import RestartOrder

NO_LIMIT = timedelta(days=36_500)
"""Deadlines of a level are the scheduler-adapter's, which knows whether there is room."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing is to be written now; ``unfenced``: until a node that would take the new pods is closed."""

    because: str
    unfenced: bool = False


def due(
    order: RestartOrder, view: JobView, pods: Sequence[Pod], nodes: Mapping[NodeName, Node]
) -> RestartPlan | Hold | Refusal:
    """Return the plan for this order, why nothing is to be written now, or why the level cannot be had.

    What others already took away is not taken again: a pod that is gone was counted by its controller, and a gang that
    restarts by its own policy would be killed a second time.
    """
    lost = [pod for pod in pods if task_of(pod) in order.lost]
    ground = Ground(nodes, order.avoid, _proved(order, lost if order.level is Level.POD else pods))
    if view.phase is JobPhase.RESTARTING:
        return _help_along(view, Scene(pods, lost, ground))
    if not any(pod.live or _waits_for_us(pod, view, ground) for pod in lost):
        fresh = sum(pod.live and task_of(pod) not in order.lost for pod in pods)
        return Hold(f"the lost pods of {view.words} went by another's hand, {fresh} of {view.size} pods are there")
    match restart_plan(view, order.level, pods=pods, lost=lost, ground=ground):
        case Refusal(until=Until.ALWAYS) as refused:
            return refused
        case Refusal() as refused:
            return Hold(f"{refused.because}; {refused.remedy}", unfenced=refused.until is Until.CLOSED)
        case plan:
            return replace(plan, expected=replace(plan.expected, within=NO_LIMIT))


def _help_along(view: JobView, scene: Scene) -> RestartPlan | Hold:
    """Let a job restart by its own controller, and take away what hangs on dead nodes and would keep it from that."""
    why = f"{view.words} restarts by its own controller"
    hanging = [pod for pod in scene.hanging if scene.ground.dead(pod.node) and not pod.over]
    if not hanging:
        return Hold(why)
    clear = removals(hanging, scene.ground, "it hangs on a dead node and holds the restart up")
    because = f"{why}; force away {names(hanging)}"
    return restart_all(view, scene, verb=Verb.DELETE_PODS, steps=clear, cost=Cost(), because=because)


def _waits_for_us(pod: Pod, view: JobView, ground: Ground) -> bool:
    """Return whether a dead pod stays until somebody takes it away: it hangs, or its controller leaves it as it is."""
    return (ground.silent(pod.node) and not pod.over) or (kind_of(view).leaves_dead and pod.deleted is None)


def _proved(order: RestartOrder, touched: Sequence[Pod]) -> frozenset[NodeName]:
    """Return the nodes on which every pod to be taken is known to run no rank: its task is safe, or it had none."""
    unsafe = {pod.node for pod in touched if not (task_of(pod) is None or task_of(pod) in order.safe)}
    return frozenset(pod.node for pod in touched if pod.node is not None and pod.node not in unsafe)
