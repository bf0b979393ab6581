"""What each service asks of an API server, as data: its Role grants this and nothing more, and doctor asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass

from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_objects import group
from keepstep.adapters.kube_resources import COMMANDS
from keepstep.adapters.kube_trainjob import TRAINJOB
from keepstep.contracts.taxonomy import Service


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """One resource (``plural`` or ``plural/subresource``) and what is done to it; ``why`` is for people."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str


_READ = ("get", "list", "watch")
_CHANGE = (*_READ, "patch")
_BY_OPERATOR = tuple((group(kind.resource.api), kind.resource.plural) for kind in KINDS.values() if not kind.builtin)
_JOBS = tuple((group(kind.resource.api), kind.resource.plural) for kind in KINDS.values())
"""Group and plural of the job kinds."""
OPTIONAL = frozenset(prefix for prefix, _ in _BY_OPERATOR) | {group(COMMANDS.api)}
"""Groups that a cluster has only with the operator of the kind."""

NEEDS: Mapping[Service, tuple[Need, ...]] = {
    Service.DETECTOR: (Need("", "nodes", ("list", "watch"), "node conditions that others found"),),
    Service.DIAGNOSER: (),
    Service.ISOLATOR: (
        Need("", "nodes", _CHANGE, "cordon, taint and release"),
        Need("", "pods", ("list",), "what still runs on a node that is drained"),
        Need("", "pods/eviction", ("create",), "drain"),
    ),
    Service.CHECKPOINT_MANAGER: (),
    Service.SCHEDULER_ADAPTER: (
        Need("", "pods", (*_CHANGE, "delete"), "bind tasks to pods and replace one"),
        Need("", "pods/eviction", ("create",), "replace a pod where its kind counts deletions"),
        Need("", "nodes", _READ, "whether the node of a pod is there and fenced"),
        Need("", "events", ("list",), "why a pod finds no room"),
        Need("batch", "jobs", (*_CHANGE, "delete"), "restart jobs, and remake the child Jobs of a set"),
        *(Need(prefix, plural, _CHANGE, f"find and restart {plural}") for prefix, plural in _BY_OPERATOR),
        Need("bus.volcano.sh", "commands", ("create",), "have Volcano restart a job"),
    ),
    Service.NOTIFIER: (
        Need("", "events", ("get", "create", "patch"), "tell job, pod and node each step"),
        Need("", "pods", ("list",), "the pod of a task"),
        Need("", "nodes", ("get",), "the node that an Event is about"),
        *(Need(prefix, plural, ("list",), f"the object among {plural} that is told") for prefix, plural in _JOBS),
    ),
}

HISTORY = Need("", "configmaps", ("get", "create", "patch"), "a job's last incidents")
"""What the notifier needs in namespaces of jobs alone: each binds it for itself."""

ORDERS = tuple(
    Need(prefix, plural, ("create",), f"make {plural} that people order")
    for prefix, plural in _JOBS
    if prefix != group(TRAINJOB.resource.api)
)
"""What the scheduler-adapter needs where orders make jobs, and there alone: each namespace binds it for itself. Pods of
a TrainJob stand in a runtime that many jobs share: whoever makes those does so by his own right."""

VERSIONS = Need("apps", "deployments", ("get",), "the version of the operator and of the scheduler")
"""What admission needs where it is told of them: of each one's Deployment alone, by name; of all else nothing."""

GATE = "gate"
NEEDS_OF_GATE = (
    Need("authentication.k8s.io", "tokenreviews", ("create",), "learn which pod a token is"),
    Need("authorization.k8s.io", "subjectaccessreviews", ("create",), "learn whether a namespace lets its pods in"),
)
"""What the gate of the bus asks; it is no service of the pipeline."""
ASKERS: Mapping[str, tuple[Need, ...]] = {**{str(each): needs for each, needs in NEEDS.items()}, GATE: NEEDS_OF_GATE}
"""Everybody whose rights doctor can ask for."""
