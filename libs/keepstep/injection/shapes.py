"""Where each kind keeps its pods: templates, how many of each, and where their restart policy stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_owner import JobKind
from keepstep.injection.objection import Objection
from keepstep.injection.put import Path, at, spelled

TRAINER_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


@dataclass(frozen=True, slots=True)
class Role:
    """Pods of one template."""

    name: str
    template: Path
    replicas: int
    restart: Path
    """Where the restart policy of its pods stands: by the kind in its own spec or in the pod's."""
    count: Path
    """Where the number stands, for people."""

    @property
    def field(self) -> str:
        """The template's path as people write it."""
        return spelled(self.template)


def roles(kind: JobKind, source: JsonObject) -> tuple[Role, ...]:
    """Return the roles in the order of their ranks; of a TrainJob give its runtime."""
    match kind:
        case JobKind.VOLCANO:
            return tuple(_volcano(source))
        case JobKind.PYTORCHJOB:
            return tuple(_pytorch(source))
        case JobKind.TRAINJOB:
            return tuple(_trainer(source))
        case JobKind.JOBSET:
            return tuple(_replicated(source, ("spec", "replicatedJobs")))
        case JobKind.JOB:
            return (_job("", ("spec",), 1, source),)
        case other:
            assert_never(other)


def odd_counts(kind: JobKind, source: JsonObject) -> Iterator[Objection]:
    """Yield what keeps the pods of a Job from having one rank each."""
    match kind:
        case JobKind.JOB:
            yield from _odd(source, ("spec",), default="NonIndexed")
        case JobKind.JOBSET:
            for index in range(len(rows(source, "spec", "replicatedJobs"))):
                yield from _odd(source, ("spec", "replicatedJobs", index, "template", "spec"), default="Indexed")
        case JobKind.VOLCANO | JobKind.PYTORCHJOB | JobKind.TRAINJOB:
            return
        case other:
            assert_never(other)


def _odd(source: JsonObject, path: Path, *, default: str) -> Iterator[Objection]:
    spec = at(source, path)
    if (text(spec, "completionMode") or default) != "Indexed":
        because = "pods of mode NonIndexed have no index, and ranks are given by it"
        yield Objection(spelled((*path, "completionMode")), because, "set Indexed")
    wide, all_of_it = number(spec, "parallelism", default=1), number(spec, "completions", default=-1)
    if all_of_it not in (-1, wide):
        because = f"{all_of_it} completions of {wide} pods at once never run together"
        yield Objection(spelled((*path, "completions")), because, f"set it to parallelism, {wide}")


def _volcano(source: JsonObject) -> Iterator[Role]:
    for index, task in enumerate(rows(source, "spec", "tasks")):
        path: Path = ("spec", "tasks", index)
        yield _plain(text(task, "name") or f"default{index}", path, number(task, "replicas", default=1))


def _plain(name: str, path: Path, replicas: int) -> Role:
    template = (*path, "template")
    return Role(name, template, replicas, (*template, "spec", "restartPolicy"), (*path, "replicas"))


def _pytorch(source: JsonObject) -> Iterator[Role]:
    specs = table(source, "spec", "pytorchReplicaSpecs")
    for name in sorted(specs, key=lambda name: (name != "Master", name)):
        path: Path = ("spec", "pytorchReplicaSpecs", name)
        count = number(specs, name, "replicas", default=1)
        yield Role(name, (*path, "template"), count, (*path, "restartPolicy"), (*path, "replicas"))


def _trainer(runtime: JsonObject) -> Iterator[Role]:
    """Yield the role that trains, as the runtime names it; the TrainJob says how many there are."""
    path: Path = ("spec", "template", "spec", "replicatedJobs")
    for index, role in enumerate(rows(runtime, "spec", "template", "spec", "replicatedJobs")):
        if text(role, "template", "metadata", "labels", TRAINER_STEP) == "trainer":
            yield _job(text(role, "name"), (*path, index, "template", "spec"), 1, runtime)


def _replicated(source: JsonObject, path: Path) -> Iterator[Role]:
    for index, role in enumerate(rows(source, *map(str, path))):
        inner = (*path, index, "template", "spec")
        yield _job(text(role, "name"), inner, number(role, "replicas", default=1), source)


def _job(name: str, path: Path, replicas: int, source: JsonObject) -> Role:
    spec = at(source, path)
    wide = number(spec, "parallelism", default=1)
    width = min(wide, number(spec, "completions", default=wide))
    return Role(
        name,
        (*path, "template"),
        replicas * width,
        (*path, "template", "spec", "restartPolicy"),
        (*path, "parallelism"),
    )
