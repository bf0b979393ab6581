"""Manifests from a few words: what those of all kinds share whose pods all run the same command."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_view import QUEUE_LABEL

RETRIES = 1000
"""Of the job's own: every recovery may cost one, and a month has many. keepstep's budgets are the ones that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A folder of the pods that comes from elsewhere; ``source`` is the volume's as Kubernetes writes it."""

    name: str
    path: str
    source: JsonObject
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What people ask for."""

    name: str
    namespace: str
    image: str
    command: tuple[str, ...]
    nodes: int = 1
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    priority: str = ""
    volumes: tuple[Volume, ...] = ()
    restart: str = "Never"


def document(of: Resource, wanted: Wanted, spec: JsonObject, *, queued: bool = True) -> JsonObject:
    """Return the object with this spec; ``queued``: its queue is Kueue's, and not a field of the kind's own."""
    labels = dict(wanted.labels)
    if queued and wanted.queue:
        labels[QUEUE_LABEL] = wanted.queue
    metadata: dict[str, object] = {"name": wanted.name, "namespace": wanted.namespace}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": of.api, "kind": of.kind, "metadata": metadata, "spec": spec}


def template(wanted: Wanted, container: str, *, restart: bool = True) -> JsonObject:
    """Return the template of the pods; ``restart``: their restart policy stands in it."""
    trains: dict[str, object] = {"name": container, "image": wanted.image, "command": list(wanted.command)}
    if wanted.env:
        trains["env"] = variables(wanted)
    if wanted.limits:
        trains["resources"] = {"limits": dict(wanted.limits)}
    if wanted.volumes:
        trains["volumeMounts"] = [_mount(one) for one in wanted.volumes]
    spec: dict[str, object] = {"containers": [trains]}
    if restart:
        spec["restartPolicy"] = wanted.restart
    if wanted.priority:
        spec["priorityClassName"] = wanted.priority
    if wanted.volumes:
        spec["volumes"] = [{"name": one.name, **one.source} for one in wanted.volumes]
    labels = dict(wanted.labels)
    return {"metadata": {"labels": labels}, "spec": spec} if labels else {"spec": spec}


def variables(wanted: Wanted) -> list[JsonObject]:
    """Return the variables as a container has them."""
    return [{"name": name, "value": value} for name, value in wanted.env.items()]


def _mount(volume: Volume) -> JsonObject:
    mount: dict[str, object] = {"name": volume.name, "mountPath": volume.path}
    return {**mount, "readOnly": True} if volume.read_only else mount
