"""Which recovery levels a job will have, told before it is created: by the rules of its kind, on its manifest."""

from collections.abc import Sequence

from keepstep.adapters.kube_json import JsonObject, table
from keepstep.adapters.kube_view import Refusal, Support
from keepstep.contracts.taxonomy import Level
from keepstep.injection.put import without
from keepstep.injection.shape import Shape


def forecast(shape: Shape, job: JsonObject, runtime: JsonObject | None) -> Support:
    """Return the levels that the kind will allow; ``runtime`` of a TrainJob is what its JobSet is made from.

    A manifest that is created suspended, as Kueue wants it, is judged as it will be once somebody resumed it.
    """
    job, rules = _resumed(job), shape.kind.rules
    return rules.supports(rules.read(job, shape.below(job, runtime)))


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
