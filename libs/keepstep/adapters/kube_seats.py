"""Which seat of a job is which task: the order in which its pods hold the ranks."""

from collections.abc import Iterator, Mapping
from typing import assert_never

from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_owner import JobKind

_ROLES: Mapping[str, int] = {"Master": 0}
"""A PyTorchJob's master holds rank 0, whatever order its replica types are written in."""


def seats(kind: JobKind, source: JsonObject, *, jobset: JsonObject | None = None) -> tuple[str, ...]:
    """Return the seats of the pods that are keepstep's, by task index; as ``Pod.seat`` names them.

    Templates without keepstep's label are other people's pods: a logger, a parameter server. ``jobset``: the set that
    a TrainJob made, None before it is made.
    """
    match kind:
        case JobKind.VOLCANO:
            return tuple(_volcano(source))
        case JobKind.PYTORCHJOB:
            return tuple(_pytorch(table(source, "spec", "pytorchReplicaSpecs")))
        case JobKind.TRAINJOB:
            return () if jobset is None else tuple(_replicated(jobset))
        case JobKind.JOBSET:
            return tuple(_replicated(source))
        case JobKind.JOB:
            ours = _labelled(table(source, "spec", "template"))
            return tuple(map(str, range(_width(table(source, "spec"))))) if ours else ()
        case other:
            assert_never(other)


def _volcano(source: JsonObject) -> Iterator[str]:
    for task in rows(source, "spec", "tasks"):
        if _labelled(table(task, "template")):
            yield from (f"{text(task, 'name')}-{index}" for index in range(number(task, "replicas", default=1)))


def _pytorch(specs: JsonObject) -> Iterator[str]:
    for role in sorted(specs, key=lambda role: (_ROLES.get(role, 1), role)):
        if _labelled(table(specs, role, "template")):
            yield from (f"{role.lower()}-{index}" for index in range(number(specs, role, "replicas", default=1)))


def _replicated(source: JsonObject) -> Iterator[str]:
    for role in rows(source, "spec", "replicatedJobs"):
        spec = table(role, "template", "spec")
        if _labelled(table(spec, "template")):
            for job in range(number(role, "replicas", default=1)):
                yield from (f"{text(role, 'name')}-{job}-{index}" for index in range(_width(spec)))


def _width(spec: JsonObject) -> int:
    wide = number(spec, "parallelism", default=1)
    return min(wide, number(spec, "completions", default=wide))


def _labelled(template: JsonObject) -> bool:
    return bool(text(template, "metadata", "labels", JOB_LABEL))
