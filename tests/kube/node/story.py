"""What tests of a training on the cluster tell again and again: it is started, struck, and runs again."""

from collections.abc import Sequence
from pathlib import Path

from keepstep.adapters.kube_owner import JobKind
from keepstep.adapters.kube_pod import pod_of
from keepstep.contracts.events import IncidentClosed, JobResumed, JobStarted, RecoveryPlanned
from keepstep.contracts.taxonomy import Level

from .services import Keepstep
from .trainings import NAME, training_of

ENDLESS = ("--steps=100000", "--step-seconds=0.05", "--checkpoint-dir=/data", "--save-every=10")
SAVES = "--checkpoint-dir=/data"


def uids(s: Keepstep) -> dict[str, str]:
    """Return the uid of the pod that lives in each seat."""
    return {pod.seat: pod.uid for pod in map(pod_of, s.k.pods(NAME)) if pod.live}


def in_seat(s: Keepstep, seat: str) -> tuple[str, str]:
    """Return the name of the pod that lives in a seat, and its node."""
    pod = next(pod for pod in map(pod_of, s.k.pods(NAME)) if pod.live and pod.seat == seat)
    return pod.name, pod.node or ""


def data(s: Keepstep) -> Path:
    """Return the folder of the claim that the training has its files on."""
    return s.k.folder / "nodes" / "claims" / "default" / "data"


async def started(
    s: Keepstep, kind: JobKind = JobKind.JOB, *, ranks: int = 1, restart: str = "Never", options: Sequence[str] = ()
) -> dict[str, str]:
    """Start an endless training of two pods and return them once it has a checkpoint."""
    await s.create(*training_of(kind, *ENDLESS, ranks=ranks, restart=restart), options=(SAVES, *options))
    await s.stepping(NAME, 2 * ranks, 1)
    await s.k.until(lambda: list(data(s).glob("*")))
    return uids(s)


async def recovered(s: Keepstep, *levels: Level, ranks: int = 1, first: Level | None = None) -> None:
    """Wait until the training runs on from a checkpoint, after one incident and these levels one after the other.

    ``first`` may have been tried before them: what a peer of a dead task says can come before the task's own loss.
    """
    await s.until(lambda: s.all(IncidentClosed), "the incident is closed")
    planned = [plan.level for plan in s.all(RecoveryPlanned)]
    assert planned in (list(levels), [first, *levels]), s.told()
    await s.stepping(NAME, 2 * ranks, s.all(JobResumed)[-1].generation)
    assert len(s.all(JobStarted)) == len(s.all(JobResumed)) == len(s.all(IncidentClosed)) == 1
    assert (s.all(JobResumed)[-1].step or 0) > 0
