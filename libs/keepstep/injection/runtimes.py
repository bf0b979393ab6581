"""TrainJobs: their pods stand in a runtime that many jobs share, so an injected one gets a runtime of its own."""

from keepstep.adapters.kube_json import JsonObject, number, rows, table, text, words
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_objects import group
from keepstep.adapters.kube_resources import RUNTIMES
from keepstep.injection.objection import Objection
from keepstep.injection.put import Path, at, put, without
from keepstep.injection.shape_trainjob import NODE, roles_of


def missing(job: JsonObject) -> Objection:
    """Return that the runtime of a TrainJob is not at hand."""
    ref = table(job, "spec", "runtimeRef")
    name = f"{text(ref, 'kind') or 'ClusterTrainingRuntime'} {text(ref, 'name') or '?'}"
    remedy = "put its manifest into the same file, or have a cluster asked that has it: --cluster kubernetes"
    return Objection("spec.runtimeRef", f"{name} is not at hand, and the job's pods stand in it", remedy)


def runtime_only(job: JsonObject) -> tuple[Objection, ...]:
    """Return why a TrainJob cannot be made fault-tolerant by a change of itself alone."""
    name = text(job, "spec", "runtimeRef", "name") or "?"
    because = f"the pods of a TrainJob stand in its runtime, {name}, which others share and which no webhook can change"
    return (Objection("spec.runtimeRef", because, "create what keepstep job inject -f prints, a runtime of its own"),)


def has_own(job: JsonObject) -> bool:
    """Return whether a TrainJob refers to the runtime that injection made for it."""
    return text(job, "spec", "runtimeRef", "name") == _own_name(job)


def filled(job: JsonObject, runtime: JsonObject) -> JsonObject:
    """Return the runtime with what the TrainJob puts into the container that trains, as its operator does."""
    trainer = table(job, "spec", "trainer")
    for role in roles_of(runtime):
        spec: Path = role.template[:-1]
        nodes = number(trainer, "numNodes", default=1)
        runtime = put(put(runtime, (*spec, "parallelism"), nodes), (*spec, "completions"), nodes)
        runtime = put(runtime, (*spec, "completionMode"), "Indexed")
        containers = [
            _overlaid(one, trainer) if text(one, "name") == NODE else one
            for one in rows(at(runtime, role.template), "spec", "containers")
        ]
        runtime = put(runtime, (*role.template, "spec", "containers"), containers)
    return runtime


def split(job: JsonObject, equipped: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return a runtime of the job's own, and the job that refers to it and leaves the command to it."""
    name = _own_name(job)
    about = {"name": name, "labels": {JOB_LABEL: text(job, "metadata", "name")}}
    if text(job, "metadata", "namespace"):
        about["namespace"] = text(job, "metadata", "namespace")
    runtime = {"apiVersion": RUNTIMES.api, "kind": RUNTIMES.kind, "metadata": about, "spec": table(equipped, "spec")}
    trainer = without(table(job, "spec", "trainer"), "command", "args")
    refers = put(job, ("spec", "runtimeRef"), {"apiGroup": group(RUNTIMES.api), "kind": RUNTIMES.kind, "name": name})
    return runtime, put(refers, ("spec", "trainer"), trainer)


def _own_name(job: JsonObject) -> str:
    return f"{text(job, 'metadata', 'name')}-keepstep"


def _overlaid(container: JsonObject, trainer: JsonObject) -> JsonObject:
    changed = dict(container)
    for name in ("image", "command", "args"):
        if name in trainer:
            changed[name] = trainer[name]
    if "command" in trainer and not words(trainer, "args"):
        changed.pop("args", None)
    if "resourcesPerNode" in trainer:
        changed["resources"] = trainer["resourcesPerNode"]
    processes = trainer.get("numProcPerNode")
    told = [] if processes is None else [{"name": "PET_NPROC_PER_NODE", "value": str(processes)}]
    env = {text(one, "name"): one for one in (*rows(container, "env"), *rows(trainer, "env"), *told)}
    if env:
        changed["env"] = list(env.values())
    return changed
