"""A training that loses a pod, and what is held of it each time: one decision, one restart, nothing lost, nothing left.

Jobs have a name here, as a test may have two of them: each has its files in a folder of its own on the claim.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_node import OUT_OF_SERVICE, node_of
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.contracts.events import (
    CheckpointCommitted,
    IncidentClosed,
    IncidentOpened,
    JobResumed,
    NodeIsolated,
    NodeReleased,
    RanksStarted,
    RecoveryPlanned,
    TaskLost,
)
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Level, LossCause, Outcome
from tests.system.record import read_losses

from ..server import kinds
from ..server.objects import Obj
from .services import Keepstep
from .test_ends import alive
from .trainings import NAME, training_of

M = TypeVar("M", bound=Message)

Losses = Mapping[int, float]


PATIENT = "[detection]\nsettle_limit = 10.0\n"
"""The policy of a job whose verdict waits for the cluster's word as long as a busy machine may take to bring it."""


async def begun(s: Keepstep, job: str = NAME, *, policy: str = "") -> dict[str, Pod]:
    """Start an endless training of two pods of one rank and return them by seat once it has a checkpoint."""
    where = f"/data/{job}"
    saves = f"--checkpoint-dir={where}"
    arguments = ("--steps=100000", "--step-seconds=0.05", saves, "--save-every=10", f"--losses={where}/losses")
    (manifest,) = training_of(JobKind.JOB, *arguments)
    manifest["metadata"]["name"] = job
    file = s.k.folder / f"{job}.toml"
    file.write_text(policy, encoding="utf-8")
    await s.create(manifest, options=(saves, f"--policy={file}"))
    await s.stepping(job, 2, 1)
    await s.until(lambda: about(s, CheckpointCommitted, job), "a checkpoint is committed")
    return living(s, job)


def living(s: Keepstep, job: str = NAME) -> dict[str, Pod]:
    """Return the pod that lives in each seat."""
    return {pod.seat: pod for pod in map(pod_of, s.k.pods(job)) if pod.live}


def about(s: Keepstep, kind: type[M], job: str = NAME) -> list[M]:
    """Return the messages of a type that are about this job."""
    return [message for message in s.all(kind) if message.job is not None and message.job.name == job]


def processes(s: Keepstep, *pods: Pod) -> list[int]:
    """Return the pids of all processes of these pods, which live now."""
    pids = [pid for pod in pods for pid in s.k.processes({"metadata": {"uid": pod.uid}})]
    assert alive(pids)
    return pids


async def dead(s: Keepstep, pids: Sequence[int]) -> None:
    """Return once none of these processes is left."""
    await s.k.until(lambda: not alive([*pids]))


async def resumed(
    s: Keepstep, *levels: Level, undisturbed: Losses, job: str = NAME, earlier: int = 0
) -> IncidentClosed:
    """Wait until the job runs on as if nothing had been, after one incident, these plans and one restart.

    ``earlier``: how many incidents of one plan each it had before this one. Returns how this one was closed.
    """
    await s.until(lambda: len(about(s, IncidentClosed, job)) > earlier, "the incident is closed")
    once = [len(about(s, kind, job)) - earlier for kind in (IncidentOpened, IncidentClosed, RanksStarted, JobResumed)]
    assert once == [1, 1, 1, 1], s.told()
    plans, closed, back = about(s, RecoveryPlanned, job), about(s, IncidentClosed, job)[-1], about(s, JobResumed, job)
    assert [plan.level for plan in plans[earlier:]] == [*levels], s.told()
    assert (closed.outcome, closed.levels) == (Outcome.RESUMED, levels), s.told()
    assert back[-1].step == (plans[-1].resume_step or 0) + 1 > 1, s.told()
    await s.stepping(job, 2, back[-1].generation)
    made = read_losses(s.k.folder / "nodes" / "claims" / "default" / "data" / job / "losses")
    assert list(made) == list(range(1, len(made) + 1))
    assert {step: loss for step, loss in made.items() if undisturbed.get(step, loss) != loss} == {}
    return closed


async def goes_on(s: Keepstep, job: str = NAME, *, steps: int = 20) -> None:
    """Wait until rank 0 made so many more steps, without a restart between."""
    before = s.slots(job)[0]
    await s.k.until(lambda: s.slots(job)[0].marks >= before.marks + steps)
    assert s.slots(job)[0].generation == before.generation


def lost(s: Keepstep, job: str = NAME) -> tuple[LossCause, str]:
    """Return why the job lost its one task, and the words that say by whom."""
    (loss,) = about(s, TaskLost, job)
    return loss.by, loss.text


def put_out_of_service(s: Keepstep, node: str) -> None:
    """Vouch that the machine is off, as a person or a provider does."""

    def change(found: Obj) -> None:
        taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        found["spec"]["taints"] = [*(found["spec"].get("taints") or ()), taint]

    s.k.store.edit(kinds.NODE, node, "", change, manager="kubectl-taint")


def expect_cordon_of_another(s: Keepstep, node: str) -> None:
    """The node is cordoned as a person did it, and keepstep has neither isolated nor released anything."""
    found = s.k.store.get(kinds.NODE, node)
    assert found["spec"]["unschedulable"] is True
    assert node_of(found).cordoned_by == "kubectl-cordon"
    assert "keepstep.io" not in f"{found['metadata'].get('annotations')} {found['spec'].get('taints')}"
    assert [s.all(NodeIsolated), s.all(NodeReleased)] == [[], []]
