"""All documents of a submission, every job among them injected, and what people should know of each job."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from keepstep.adapters.kube_json import JsonObject, table, text
from keepstep.adapters.kube_kinds import spelled
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid
from keepstep.adapters.kube_resources import CLUSTER_RUNTIMES, RUNTIMES
from keepstep.adapters.kube_trainjob import TRAINJOB
from keepstep.asking.refused import Refused
from keepstep.contracts.taxonomy import Level
from keepstep.injection.inject import Injected, inject, kind_of
from keepstep.injection.objection import Objection
from keepstep.injection.ours import Ours
from keepstep.injection.wishes import Wishes

TOLD = (Level.IN_PLACE, Level.POD, Level.JOB)
"""The levels that people choose jobs by."""


Done = JsonObject | Injected


def injected(
    documents: Sequence[JsonObject], ours: Ours, wishes: Wishes, *, beside: Sequence[JsonObject] = ()
) -> tuple[Done, ...]:
    """Return the documents, jobs injected; raises Refused with every objection, or where there is no job.

    A TrainJob's runtime stands among them or ``beside`` them.
    """
    done = tuple(_one(document, (*documents, *beside), ours, wishes) for document in documents)
    if not any(isinstance(one, Injected) for one in done):
        kinds = ", ".join(dict.fromkeys(text(one, "kind") or "?" for one in documents))
        known = ", ".join(f"{word} ({prefix})" for word, prefix in spelled())
        raise Refused(f"no job that keepstep restarts is among the documents ({kinds}); it restarts {known}")
    return done


def flat(done: Iterable[Done]) -> tuple[JsonObject, ...]:
    """Return all documents in the order in which they are applied."""
    return tuple(one for each in done for one in (each.documents if isinstance(each, Injected) else (each,)))


def tales(done: Iterable[Done]) -> Iterator[str]:
    """Yield what people should know of every job."""
    for each in done:
        if isinstance(each, Injected):
            yield from told(each)


def told(job: Injected) -> Iterator[str]:
    """Yield what was done to a job, and each level that it will have, or why not."""
    name = f"{text(job.job, 'kind')} {text(job.job, 'metadata', 'name')}"
    for note in job.notes:
        yield f"{name}: {note}"
    for level in TOLD:
        refused = job.support.refusal(level)
        if refused is not None:
            yield f"{name}: no level {level}: {refused.because}; {refused.remedy}"
        elif level not in job.spec.policy.recovery.levels:
            yield f"{name}: no level {level}: its policy leaves it out"
        else:
            yield f"{name}: level {level}"


def runtime_ref(document: JsonObject) -> ObjectRef | None:
    """Return which runtime a TrainJob refers to; None for other documents."""
    if (text(document, "kind"), text(document, "apiVersion")) != (TRAINJOB.resource.kind, TRAINJOB.resource.api):
        return None
    named = table(document, "spec", "runtimeRef")
    kind = text(named, "kind") or CLUSTER_RUNTIMES.kind
    namespace = text(document, "metadata", "namespace") or "default"
    where = namespace if kind == RUNTIMES.kind else ""
    return ObjectRef(RUNTIMES.api, kind, where, text(named, "name"), ObjectUid(""))


def _one(document: JsonObject, documents: Sequence[JsonObject], ours: Ours, wishes: Wishes) -> Done:
    if isinstance(kind_of(document), Objection):
        return document
    ref = runtime_ref(document)
    done = inject(document, ours, beside=wishes, runtime=None if ref is None else among(documents, ref))
    if isinstance(done, Injected):
        return done
    name = text(document, "metadata", "name") or text(document, "metadata", "generateName") or "without a name"
    raise Refused(f"{text(document, 'kind')} {name}: " + " | ".join(map(str, done)))


def among(documents: Sequence[JsonObject], ref: ObjectRef) -> JsonObject | None:
    """Return the document that a reference names; None where it is not among them."""

    def is_it(document: JsonObject) -> bool:
        about_it: Mapping[str, object] = table(document, "metadata")
        return text(document, "kind") == ref.kind and text(about_it, "name") == ref.name

    return next((document for document in documents if is_it(document)), None)
