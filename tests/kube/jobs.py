"""Jobs of each kind with their pods, from recorded objects: what the table tests of the kinds start from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_kinds import KINDS, restart_plan
from keepstep.adapters.kube_node import OUT_OF_SERVICE, Effect, Node, Taint, node_of
from keepstep.adapters.kube_objects import ObjectUid, OwnerRef, PodUid
from keepstep.adapters.kube_plan import Ground, RestartPlan
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.adapters.kube_view import JobView, Refusal
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level
from tests.kube.objects import changed, merged, sample

CHILD = ObjectUid("child-0")
READY, SILENT = node_of(sample("node-ready")), node_of(sample("node-unreachable"))
OFF = Taint(OUT_OF_SERVICE, Effect.NO_EXECUTE)
DEAD = replace(SILENT, taints=(*SILENT.taints, OFF))
RUNNING = {
    JobKind.VOLCANO: "volcano-running",
    JobKind.PYTORCHJOB: "pytorchjob-running",
    JobKind.TRAINJOB: "trainjob-running",
    JobKind.JOBSET: "jobset-running",
    JobKind.JOB: "job-running",
}


def child(name: str = "j-node-0", uid: str = CHILD, **patch: Any) -> dict[str, Any]:
    """Return a child Job of four pods."""
    return merged(changed("job-running", metadata={"name": name, "uid": uid}), patch)


def view(kind: JobKind, recorded: str = "", *, jobs: Sequence[dict[str, Any]] | None = None, **patch: Any) -> JobView:
    """Return a job as recorded, with parts of it merged over; a TrainJob or JobSet with one child Job."""
    source = merged(sample(recorded or RUNNING[kind]), patch)
    jobset = sample("trainjob-jobset-running") if kind is JobKind.TRAINJOB else None
    return KINDS[kind].rules.read(source, Below(jobset, [child()] if jobs is None else jobs))


def gang(kind: JobKind, job: JobView) -> list[Pod]:
    """Return its four pods, each on a node of its own: n0 to n3."""
    seats = {
        JobKind.VOLCANO: ["master-0", "worker-0", "worker-1", "worker-2"],
        JobKind.PYTORCHJOB: ["master-0", "worker-0", "worker-1", "worker-2"],
    }.get(kind, ["node-0-0", "node-0-1", "node-0-2", "node-0-3"])
    owner = OwnerRef(job.ref.api, job.ref.kind, job.ref.name, job.ref.uid)
    if kind in (JobKind.TRAINJOB, JobKind.JOBSET):
        owner = OwnerRef("batch/v1", "Job", "j-node-0", CHILD)
    one = pod_of(sample("volcano-pod-running"))
    return [
        replace(one, uid=uid(f"old-{i}"), name=f"j-{seat}", seat=seat, node=NodeName(f"n{i}"), owner=owner)
        for i, seat in enumerate(seats)
    ]


def uid(name: str) -> PodUid:
    return PodUid(ObjectUid(name))


def ground(**nodes: Node) -> Ground:
    """Return four nodes that answer, those named replaced."""
    all_nodes = {f"n{i}": READY for i in range(4)} | nodes
    return Ground({NodeName(name): replace(node, name=NodeName(name)) for name, node in all_nodes.items()})


def avoiding(ground: Ground, *names: str) -> Ground:
    return replace(ground, avoid=frozenset(map(NodeName, names)))


def plan(
    kind: JobKind, job: JobView, level: Level, *, lost: Sequence[int] = (1,), on: Ground | None = None
) -> RestartPlan | Refusal:
    """Return the plan for the job's gang; ``lost`` are positions in it."""
    pods = gang(kind, job)
    there = ground() if on is None else on
    return restart_plan(job, level, pods=pods, lost=[pods[i] for i in lost], ground=there)


def planned(answer: RestartPlan | Refusal) -> RestartPlan:
    assert isinstance(answer, RestartPlan), answer
    return answer


def refused(answer: RestartPlan | Refusal) -> Refusal:
    assert isinstance(answer, Refusal), answer
    assert answer.because
    assert answer.remedy
    return answer


def shape(plan: RestartPlan) -> list[str]:
    """Return the steps as words: what and on whom."""
    said = []
    for step in plan.steps:
        name = type(step).__name__.lower()
        target = getattr(step, "target", None)
        if getattr(step, "force", False):
            name = "force"
        said.append(f"{name} {target.name}" if target is not None else f"{name} {getattr(step, 'what', '')}".strip())
    return said


def pod_plan(kind: JobKind, *, there: Ground | None = None, lost: tuple[int, ...] = (1,), **patch: Any) -> RestartPlan:
    return planned(plan(kind, view(kind, **patch), Level.POD, on=there, lost=lost))
