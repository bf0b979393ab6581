"""What tests of a training on the cluster tell again and again: it is started, struck, and runs again."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_pod import pod_of
from keepstep.contracts.events import (
    CheckpointCommitted,
    IncidentClosed,
    IncidentOpened,
    JobResumed,
    JobStarted,
    RecoveryPlanned,
    RecoveryStarted,
)
from keepstep.contracts.taxonomy import Level, Outcome
from tests.system.record import read_losses

from ..server import kinds
from .services import Keepstep
from .trainings import IMAGE, NAME, training_of

SAVE_EVERY = 40
"""Steps, which are two seconds: long enough that a save is known before the next one is made."""
ENDLESS = (
    "--steps=100000",
    "--step-seconds=0.05",
    "--checkpoint-dir=/data",
    f"--save-every={SAVE_EVERY}",
    "--losses=/data/losses",
)
SAVES = "--checkpoint-dir=/data"


def uids(s: Keepstep) -> dict[str, str]:
    """Return the uid of the pod that lives in each seat."""
    return {pod.seat: pod.uid for pod in map(pod_of, s.k.pods(NAME)) if pod.live}


def seated(s: Keepstep, generation: int) -> dict[int, str]:
    """Return the seat of the living pod that each rank of this generation runs in."""
    every = ((pod_of(pod), rank, slot) for pod, rank, slot in s.ranks(NAME))
    return {rank: pod.seat for pod, rank, slot in every if pod.live and slot.generation == generation}


def in_seat(s: Keepstep, seat: str) -> tuple[str, str]:
    """Return the name of the pod that lives in a seat, and its node."""
    pod = next(pod for pod in map(pod_of, s.k.pods(NAME)) if pod.live and pod.seat == seat)
    return pod.name, pod.node or ""


def delete(s: Keepstep, seat: str) -> None:
    """Delete the pod that lives in a seat, as people do."""
    s.k.store.delete(kinds.POD, in_seat(s, seat)[0], "default")


def data(s: Keepstep) -> Path:
    """Return the folder of the claim that the training has its files on."""
    return s.k.folder / "nodes" / "claims" / "default" / "data"


def policy(s: Keepstep, **recovery: object) -> tuple[str]:
    """Return the option that gives a job this policy of recovery."""
    file = s.k.folder / "policy.json"
    file.write_text(json.dumps({"recovery": recovery}), encoding="utf-8")
    return (f"--policy={file}",)


async def started(
    s: Keepstep,
    kind: JobKind = JobKind.JOB,
    *,
    ranks: int = 1,
    restart: str = "Never",
    image: str = IMAGE,
    options: Sequence[str] = (),
) -> dict[str, str]:
    """Start an endless training of two pods and return them once it has a checkpoint."""
    jobs = training_of(kind, *ENDLESS, ranks=ranks, restart=restart, image=image)
    await s.create(*jobs, options=(SAVES, *options))
    await s.stepping(NAME, 2 * ranks, 1)
    await s.until(lambda: s.all(CheckpointCommitted), "a checkpoint is committed")
    return uids(s)


async def recovered(s: Keepstep, *levels: Level, ranks: int = 1, first: Level | None = None) -> None:
    """Wait until the training runs on from a checkpoint, after one incident and these levels one after the other.

    ``first`` may have been tried before them: what a peer of a dead task says can come before the task's own loss.
    """
    await s.until(lambda: s.all(IncidentClosed), "the incident is closed")
    assert {one.outcome for one in s.all(IncidentClosed)} == {Outcome.RESUMED}, s.told()
    planned = [plan.level for plan in s.all(RecoveryPlanned)]
    assert planned in (list(levels), [first, *levels]), s.told()
    assert [begun.level for begun in s.all(RecoveryStarted)] in (list(levels), planned), s.told()
    assert len(s.all(JobStarted)) == len(s.all(IncidentOpened)) == len(s.all(IncidentClosed)) == 1, s.told()
    (resumed,) = s.all(JobResumed)
    await s.stepping(NAME, 2 * ranks, resumed.generation)
    saved = s.all(RecoveryPlanned)[-1].resume_step
    assert saved is not None
    assert (resumed.step or 0) > saved > 0
    assert set(resumptions(s)) <= {saved + 1}
    await alone(s)


def resumptions(s: Keepstep) -> list[int]:
    """Return the steps that were made first after a restart.

    Expects that no step is missing, and that those made twice had the same loss, to the last digit.
    """
    path = data(s) / "losses"
    steps = list(read_losses(path))
    assert steps == list(range(1, len(steps) + 1))
    made = [json.loads(line)["step"] for line in path.read_text(encoding="utf-8").splitlines()]
    return [step for before, step in pairwise(made) if step != before + 1]


async def alone(s: Keepstep) -> None:
    """Return once no process runs but those of the pods that live."""
    runs = s.k.kubelet.runs
    await s.k.until(lambda: {uid for uid, run in runs.items() if run.pids()} == set(uids(s).values()))
