"""Manifests of TrainJobs: who trains stands in the runtime that they refer to, how many in the job."""

from collections.abc import Iterator

from keepstep.adapters.kube_json import JsonObject, rows, table, text
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_trainjob import TRAINJOB
from keepstep.injection.making import Wanted, document, variables
from keepstep.injection.put import Path
from keepstep.injection.shape import Role, Shape
from keepstep.injection.shape_job import job_role
from keepstep.injection.shape_jobset import jobs_of

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
NODE = "node"
"""The container that takes the TrainJob's image, command and resources."""
RUNTIME = "torch-distributed"
"""What Kubeflow Trainer installs."""
_SET = ("spec", "template", "spec")


def roles_of(runtime: JsonObject) -> Iterator[Role]:
    """Yield the role that trains, as the runtime names it; the TrainJob says how many there are."""
    path: Path = (*_SET, "replicatedJobs")
    for index, role in enumerate(rows(runtime, *_SET, "replicatedJobs")):
        if text(role, "template", "metadata", "labels", STEP) == "trainer":
            yield job_role(text(role, "name"), (*path, index, "template", "spec"), 1, runtime)


def _below(job: JsonObject, runtime: JsonObject | None) -> Below:
    jobset = {**job, "spec": {} if runtime is None else table(runtime, *_SET)}
    return Below(jobset, tuple(jobs_of(jobset)))


def _make(wanted: Wanted) -> JsonObject:
    """Return the manifest without the volumes, which only its runtime can have."""
    trainer: dict[str, object] = {
        "image": wanted.image,
        "command": list(wanted.command),
        "numNodes": wanted.nodes,
    }
    if wanted.env:
        trainer["env"] = variables(wanted)
    if wanted.limits:
        trainer["resourcesPerNode"] = {"limits": dict(wanted.limits)}
    return document(TRAINJOB.resource, wanted, {"runtimeRef": {"name": RUNTIME}, "trainer": trainer})


SHAPE = Shape(kind=TRAINJOB, roles=roles_of, make=_make, below=_below, container=NODE, by_runtime=True)
