"""What the double's store shows of a job, read as the adapters read it: view, pods, nodes."""

from collections.abc import Mapping
from typing import Any

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.adapters.kube_view import JobView
from keepstep.contracts.ids import NodeName
from tests.kube.server import kinds
from tests.kube.server.kinds import Kind
from tests.kube.server.store import Store

STORED: Mapping[JobKind, Kind] = {
    JobKind.VOLCANO: kinds.VOLCANO_JOB,
    JobKind.PYTORCHJOB: kinds.PYTORCH_JOB,
    JobKind.TRAINJOB: kinds.TRAIN_JOB,
    JobKind.JOBSET: kinds.JOB_SET,
    JobKind.JOB: kinds.JOB,
}


def view(store: Store, kind: JobKind, namespace: str, name: str = "j") -> JobView:
    """Return the job, with all child objects that there are: it has the namespace for itself."""
    (job,) = (one for one in _objects(store, STORED[kind], namespace) if one["metadata"]["name"] == name)
    jobs = _objects(store, kinds.JOB, namespace) if kind in (JobKind.TRAINJOB, JobKind.JOBSET) else []
    sets = _objects(store, kinds.JOB_SET, namespace) if kind is JobKind.TRAINJOB else []
    return KINDS[kind].rules.read(job, Below(next(iter(sets), None), jobs))


def pods(store: Store, namespace: str) -> list[Pod]:
    """Return the pods of the namespace."""
    return [pod_of(one) for one in _objects(store, kinds.POD, namespace)]


def nodes(store: Store) -> Mapping[NodeName, Node]:
    """Return the nodes by name."""
    return {node.name: node for node in map(node_of, _objects(store, kinds.NODE, None))}


def _objects(store: Store, kind: Kind, namespace: str | None) -> list[dict[str, Any]]:
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    return [{**one, **head} for one in store.list(kind, namespace)]
