"""Manifests of JobSets: roles of Jobs, each with replicas."""

from collections.abc import Iterator

from keepstep.adapters.kube_job import JOB
from keepstep.adapters.kube_jobset import JOBSET
from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_kind import Below
from keepstep.injection.making import Wanted, document
from keepstep.injection.objection import Objection
from keepstep.injection.put import Path
from keepstep.injection.shape import Role, Shape
from keepstep.injection.shape_job import job_role, job_spec, odd_count

_AT = ("spec", "replicatedJobs")


def _roles(source: JsonObject) -> Iterator[Role]:
    for index, role in enumerate(rows(source, *_AT)):
        yield job_role(text(role, "name"), _job(index), number(role, "replicas", default=1), source)


def _odd_counts(source: JsonObject) -> Iterator[Objection]:
    for index in range(len(rows(source, *_AT))):
        yield from odd_count(source, _job(index), default="Indexed")


def _job(index: int) -> Path:
    return (*_AT, index, "template", "spec")


def jobs_of(jobset: JsonObject) -> Iterator[JsonObject]:
    """Yield the Jobs that a JobSet will make, one per replica; their mode is Indexed unless it is said otherwise."""
    for role in rows(jobset, *_AT):
        for index in range(number(role, "replicas", default=1)):
            name = f"{text(jobset, 'metadata', 'name')}-{text(role, 'name')}-{index}"
            spec = {"completionMode": "Indexed", **table(role, "template", "spec")}
            of = JOB.resource
            yield {"apiVersion": of.api, "kind": of.kind, "metadata": {"name": name}, "spec": spec}


def _make(wanted: Wanted) -> JsonObject:
    role = {"name": "node", "replicas": 1, "template": {"spec": job_spec(wanted)}}
    return document(JOBSET.resource, wanted, {"replicatedJobs": [role]})


SHAPE = Shape(
    kind=JOBSET,
    roles=_roles,
    make=_make,
    odd_counts=_odd_counts,
    below=lambda job, _: Below(jobs=tuple(jobs_of(job))),
)
