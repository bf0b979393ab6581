"""Manifests of batch/v1 Jobs, of which JobSets and the runtimes of TrainJobs are made."""

from collections.abc import Iterator

from keepstep.adapters.kube_job import JOB, width
from keepstep.adapters.kube_json import JsonObject, number, text
from keepstep.injection.making import RETRIES, Wanted, document, template
from keepstep.injection.objection import Objection
from keepstep.injection.put import Path, at, spelled
from keepstep.injection.shape import Role, Shape


def job_role(name: str, path: Path, replicas: int, source: JsonObject) -> Role:
    """Return the role that the spec of a Job at ``path`` describes, for ``replicas`` such Jobs."""
    return Role(
        name,
        (*path, "template"),
        replicas * width(at(source, path)),
        (*path, "template", "spec", "restartPolicy"),
        (*path, "parallelism"),
    )


def odd_count(source: JsonObject, path: Path, *, default: str) -> Iterator[Objection]:
    """Yield what keeps the pods of a Job from having one rank each; ``default``: its mode where none is said."""
    spec = at(source, path)
    if (text(spec, "completionMode") or default) != "Indexed":
        because = "pods of mode NonIndexed have no index, and ranks are given by it"
        yield Objection(spelled((*path, "completionMode")), because, "set Indexed")
    wide, all_of_it = number(spec, "parallelism", default=1), number(spec, "completions", default=-1)
    if all_of_it not in (-1, wide):
        because = f"{all_of_it} completions of {wide} pods at once never run together"
        yield Objection(spelled((*path, "completions")), because, f"set it to parallelism, {wide}")


def job_spec(wanted: Wanted) -> JsonObject:
    """Return the spec of a Job whose pods all run together."""
    return {
        "completionMode": "Indexed",
        "completions": wanted.nodes,
        "parallelism": wanted.nodes,
        "backoffLimit": RETRIES,
        "template": template(wanted, "main"),
    }


SHAPE = Shape(
    kind=JOB,
    roles=lambda source: (job_role("", ("spec",), 1, source),),
    make=lambda wanted: document(JOB.resource, wanted, job_spec(wanted)),
    odd_counts=lambda source: odd_count(source, ("spec",), default="NonIndexed"),
)
