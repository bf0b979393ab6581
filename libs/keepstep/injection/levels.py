"""Which recovery levels a job will have, told before it is created: by the rules of its kind, on its manifest."""

from collections.abc import Iterator, Sequence

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_owner import JobKind
from keepstep.adapters.kube_view import Refusal, Support
from keepstep.contracts.taxonomy import Level
from keepstep.injection.put import without


def forecast(kind: JobKind, job: JsonObject, runtime: JsonObject | None) -> Support:
    """Return the levels that the kind will allow; ``runtime`` of a TrainJob is what its JobSet is made from.

    A manifest that is created suspended, as Kueue wants it, is judged as it will be once somebody resumed it.
    """
    job = _resumed(job)
    if kind is JobKind.TRAINJOB:
        spec = {} if runtime is None else table(runtime, "spec", "template", "spec")
        jobset = {**job, "spec": spec}
        view = kube_kinds.view_of(kind, job, jobset=jobset, jobs=tuple(_children(jobset)))
    else:
        view = kube_kinds.view_of(kind, job, jobs=tuple(_children(job)))
    return kube_kinds.supports(view)


def narrowed(support: Support, more: Sequence[Refusal]) -> Support:
    """Return the support less what else is refused; of several reasons the first one stays."""
    known: dict[Level, Refusal] = {}
    for refused in (*support.refusals, *more):
        known.setdefault(refused.level, refused)
    return Support(support.levels - known.keys(), tuple(known.values()))


def _resumed(job: JsonObject) -> JsonObject:
    """Return the job less every ``suspend`` that a kind has."""
    spec = without(table(job, "spec"), "suspend")
    if "runPolicy" in spec:
        spec = {**spec, "runPolicy": without(table(spec, "runPolicy"), "suspend")}
    return {**job, "spec": spec}


def _children(jobset: JsonObject) -> Iterator[JsonObject]:
    """Yield the Jobs that a JobSet will make, one per replica; their mode is Indexed unless it is said otherwise."""
    for role in rows(jobset, "spec", "replicatedJobs"):
        for index in range(number(role, "replicas", default=1)):
            name = f"{text(jobset, 'metadata', 'name')}-{text(role, 'name')}-{index}"
            spec = {"completionMode": "Indexed", **table(role, "template", "spec")}
            yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
