"""Which recovery levels a job will have, told before it is created: by the rules of its kind, on its manifest."""

from collections.abc import Iterator

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_owner import JobKind
from keepstep.adapters.kube_view import Support


def forecast(kind: JobKind, job: JsonObject, runtime: JsonObject | None) -> Support:
    """Return the levels that the kind will allow; ``runtime`` of a TrainJob is what its JobSet is made from."""
    if kind is JobKind.TRAINJOB:
        spec = {} if runtime is None else table(runtime, "spec", "template", "spec")
        jobset = {**job, "spec": spec}
        view = kube_kinds.view_of(kind, job, jobset=jobset, jobs=tuple(_children(jobset)))
    else:
        view = kube_kinds.view_of(kind, job, jobs=tuple(_children(job)))
    return kube_kinds.supports(view)


def _children(jobset: JsonObject) -> Iterator[JsonObject]:
    """Yield the Jobs that a JobSet will make, one per replica; their mode is Indexed unless it is said otherwise."""
    for role in rows(jobset, "spec", "replicatedJobs"):
        for index in range(number(role, "replicas", default=1)):
            name = f"{text(jobset, 'metadata', 'name')}-{text(role, 'name')}-{index}"
            spec = {"completionMode": "Indexed", **table(role, "template", "spec")}
            yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
