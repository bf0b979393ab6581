"""Which pod is which task: bindings of launches to pods by seat, or why there is none to bind to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_loss_words import IMAGE_REASONS
from keepstep.adapters.kube_marks import TASK, TASK_INDEX, TASK_JOB
from keepstep.adapters.kube_pod import Pod, PodPhase
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.topology import TaskLaunch


@dataclass(frozen=True, slots=True)
class Binding:
    """A pod and what it is to run; ``fresh`` while the pod does not say so yet."""

    pod: Pod
    launch: TaskLaunch
    fresh: bool


@dataclass(frozen=True, slots=True)
class Short:
    """A task without a pod. ``stuck``: its pod is there and waits for what waiting alone may not bring."""

    because: str
    stuck: bool = False
    seat: str = ""


def task_of(pod: Pod) -> TaskUid | None:
    """Return the task that a pod is bound to."""
    return next((TaskUid(said) for name, said in pod.marks if name == TASK), None)


def bound(pods: Iterable[Pod]) -> Mapping[TaskUid, Pod]:
    """Return the bound pods by task."""
    return {task: pod for pod in pods if (task := task_of(pod)) is not None}


def marks_of(launch: TaskLaunch) -> JsonObject:
    """Return the merge patch that binds a pod to a task."""
    notes = {TASK: launch.task.uid, TASK_INDEX: str(launch.task.index), TASK_JOB: launch.job.uid}
    return {"metadata": {"annotations": notes}}


def bind(
    launches: Sequence[TaskLaunch], pods: Sequence[Pod], seats: Sequence[str], *, avoid: frozenset[NodeName]
) -> tuple[Binding, ...] | Short:
    """Return the bindings of all launches whose tasks have not ended, or what the first without a pod waits for.

    A pod that bears another task's mark is never taken: its agent may run that task's ranks. A pod counts once it runs,
    so that whatever keeps it from running is told as the reason.
    """
    known, by_seat = bound(pods), defaultdict[str, list[Pod]](list)
    for pod in pods:
        by_seat[pod.seat].append(pod)
    bindings = []
    for launch in launches:
        there = known.get(launch.task.uid)
        if there is not None:
            bindings += [Binding(there, launch, fresh=False)] if there.live else []
            continue
        seat = seats[launch.task.index] if launch.task.index < len(seats) else ""
        found = _runs(seat, by_seat[seat], avoid)
        if isinstance(found, Short):
            return found
        bindings.append(Binding(found, launch, fresh=True))
    return tuple(bindings)


def _runs(seat: str, pods: Sequence[Pod], avoid: frozenset[NodeName]) -> Pod | Short:
    """Return the pod of those of one seat that may be bound, or what is waited for."""
    free = [pod for pod in pods if pod.live and task_of(pod) is None]
    usable = [pod for pod in free if pod.node not in avoid]
    running = next((pod for pod in usable if pod.phase is PodPhase.RUNNING), None)
    if running is not None:
        return running
    if free and not usable:
        return Short(f"pod {free[0].name} came to {free[0].node}, which is to be avoided", stuck=True, seat=seat)
    return next(iter(_waits(usable)), None) or _absent(seat, pods)


def _waits(pods: Iterable[Pod]) -> Iterator[Short]:
    for pod in pods:
        if pod.waiting is not None:
            image = pod.waiting.reason in IMAGE_REASONS
            yield Short(f"pod {pod.name} waits: {pod.waiting.reason}: {pod.waiting.message}", image, pod.seat)
        elif pod.unscheduled is not None:
            because = f"no node takes pod {pod.name}: {pod.unscheduled.message or pod.unscheduled.reason}"
            yield Short(because, stuck=True, seat=pod.seat)
        else:
            where = f"starts on {pod.node}" if pod.node else "waits for a node"
            yield Short(f"pod {pod.name} {where}", seat=pod.seat)


def _absent(seat: str, pods: Sequence[Pod]) -> Short:
    ending = next((pod for pod in pods if pod.deleted is not None), None)
    if ending is not None:
        return Short(f"pod {ending.name} of seat {seat} still terminates on {ending.node}", seat=seat)
    return Short(f"there is no pod for seat {seat} yet", seat=seat)
