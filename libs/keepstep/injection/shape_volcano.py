"""Manifests of Volcano Jobs: a gang of tasks, each with a template."""

from collections.abc import Iterator

from keepstep.adapters.kube_json import JsonObject, number, rows, text
from keepstep.adapters.kube_volcano import VOLCANO
from keepstep.injection.making import RETRIES, Wanted, document, template
from keepstep.injection.put import Path
from keepstep.injection.shape import Role, Shape


def _roles(source: JsonObject) -> Iterator[Role]:
    for index, task in enumerate(rows(source, "spec", "tasks")):
        path: Path = ("spec", "tasks", index)
        pods = (*path, "template")
        name, count = text(task, "name") or f"default{index}", number(task, "replicas", default=1)
        yield Role(name, pods, count, (*pods, "spec", "restartPolicy"), (*path, "replicas"))


def _make(wanted: Wanted) -> JsonObject:
    task = {"name": "worker", "replicas": wanted.nodes, "template": template(wanted, "main")}
    spec: dict[str, object] = {
        "minAvailable": wanted.nodes,
        "schedulerName": "volcano",
        "maxRetry": RETRIES,
        "plugins": {"env": [], "svc": []},
        "tasks": [task],
    }
    if wanted.queue:
        spec["queue"] = wanted.queue
    if wanted.priority:
        spec["priorityClassName"] = wanted.priority
    return document(VOLCANO.resource, wanted, spec, queued=False)


SHAPE = Shape(kind=VOLCANO, roles=_roles, make=_make)
