"""Manifests of PyTorchJobs: replica types, whose restart policy stands beside the template."""

from collections.abc import Iterator

from keepstep.adapters.kube_json import JsonObject, number, table, text
from keepstep.adapters.kube_pytorchjob import PYTORCHJOB
from keepstep.injection.making import Wanted, document, template
from keepstep.injection.put import Path
from keepstep.injection.shape import EXIT_CODE, NEVER, Policies, Role, Shape

CONTAINER = "pytorch"
_AT = ("spec", "pytorchReplicaSpecs")


def _roles(source: JsonObject) -> Iterator[Role]:
    specs = table(source, *_AT)
    for name in sorted(specs, key=lambda name: (name != "Master", name)):
        path: Path = (*_AT, name)
        count = number(specs, name, "replicas", default=1)
        yield Role(name, (*path, "template"), count, (*path, "restartPolicy"), (*path, "replicas"))


def _nproc(source: JsonObject) -> int | None:
    """Return the ranks per pod that ``nprocPerNode`` says; words such as auto mean the devices."""
    said = text(source, "spec", "nprocPerNode") or str(number(source, "spec", "nprocPerNode"))
    return int(said) if said.isdecimal() and int(said) else None


def _make(wanted: Wanted) -> JsonObject:
    replica = {"restartPolicy": wanted.restart, "template": template(wanted, CONTAINER, restart=False)}
    replicas = {"Master": {"replicas": 1, **replica}}
    if wanted.nodes > 1:
        replicas["Worker"] = {"replicas": wanted.nodes - 1, **replica}
    policy = {"cleanPodPolicy": "None"}
    return document(PYTORCHJOB.resource, wanted, {"runPolicy": policy, "pytorchReplicaSpecs": replicas})


SHAPE = Shape(
    kind=PYTORCHJOB,
    roles=_roles,
    make=_make,
    policies=Policies(
        (NEVER, EXIT_CODE), "set Never; or ExitCode, whose pods are Never too, to have level pod besides"
    ),
    container=CONTAINER,
    nproc=_nproc,
)
