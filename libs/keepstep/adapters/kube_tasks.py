"""A bound pod as the port's TaskStatus: what the cluster's words mean for the task in it."""

from datetime import datetime

from keepstep.adapters.kube_binding import task_of
from keepstep.adapters.kube_loss import Loss, loss_of, proven_dead
from keepstep.adapters.kube_marks import TASK_INDEX, TASK_JOB
from keepstep.adapters.kube_node import Node
from keepstep.adapters.kube_pod import Pod, PodPhase
from keepstep.contracts.ids import JobUid
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import TaskRef
from keepstep.ports.cluster import TaskPhase, TaskStatus


def status_of(pod: Pod, *, gone: bool, node: Node | None) -> TaskStatus | None:
    """Return the task's status, None for a pod that is bound to none.

    ``gone``: the object is deleted; ``node`` is its node now, None when that is deleted or the pod never had one. A
    node that merely does not answer takes no task: its agents may still be heard, and if not, their silence tells.
    """
    task, notes = task_of(pod), dict(pod.marks)
    if task is None or TASK_INDEX not in notes or TASK_JOB not in notes:
        return None
    index = int(notes[TASK_INDEX])
    ref = TaskRef(name=f"worker-{index}", uid=task, index=index)
    job = JobUid(notes[TASK_JOB])
    if not _lost(pod, gone=gone, node=node):
        phase = TaskPhase.RUNNING if pod.phase is PodPhase.RUNNING else TaskPhase.PENDING
        return TaskStatus(job=job, ref=ref, phase=phase, node=pod.node)
    loss = loss_of(pod, gone=gone, node=node)
    return TaskStatus(
        job=job,
        ref=ref,
        phase=TaskPhase.GONE,
        node=pod.node,
        by=loss.cause if loss is not None else LossCause.LAUNCHER_EXITED,
        proven=proven_dead(pod, gone=gone, node=node),
        text=_text(pod, loss),
        at=_at(pod),
    )


def _lost(pod: Pod, *, gone: bool, node: Node | None) -> bool:
    ended = gone or pod.deleted is not None or pod.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
    return ended or (pod.node is not None and (node is None or node.out_of_service))


def _text(pod: Pod, loss: Loss | None) -> str:
    if loss is None:
        return f"pod {pod.name} ended well"
    return loss.because + (f"; by {loss.by}" if loss.by else "")


def _at(pod: Pod) -> datetime | None:
    ends = [end.at for end in pod.ended if end.at is not None]
    return pod.asked or max(ends, default=None)
