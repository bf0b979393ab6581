"""Minimal definitions of the double's custom kinds: what the adapters read is typed, all else is kept as it is."""

from typing import Any

from tests.kube.server.kinds import KINDS, Kind
from tests.kube.server.schema import known_fields

Obj = dict[str, Any]
_ANY: Obj = {"x-kubernetes-preserve-unknown-fields": True}
_FLAG, _NUMBER, _TEXT = {"type": "boolean"}, {"type": "integer"}, {"type": "string"}
_CONDITION: Obj = {"type": "object", "required": ["type", "status"], "properties": {"type": _TEXT, "status": _TEXT}}
_TYPED: Obj = {
    "suspend": _FLAG,
    "maxRetry": _NUMBER,
    "minAvailable": _NUMBER,
    "managedBy": _TEXT,
    "queue": _TEXT,
    "schedulerName": _TEXT,
    "runtimePatches": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["manager"],
        "items": {"type": "object", "required": ["manager"], "properties": {"manager": _TEXT}, **_ANY},
    },
}
_STATUS: Obj = {
    "type": "object",
    "properties": {"conditions": {"type": "array", "items": {**_CONDITION, **_ANY}}},
    **_ANY,
}


def definitions() -> list[Obj]:
    """Return a CustomResourceDefinition for each custom kind of the double."""
    return [_definition(kind) for kind in KINDS if kind.crd]


def _definition(kind: Kind) -> Obj:
    fields = sorted(known_fields(kind))
    spec: Obj = {"type": "object", "properties": {name: _TYPED.get(name, _ANY) for name in fields}}
    whole = {"spec": spec if fields else {"type": "object", **_ANY}, "status": _STATUS}
    version: Obj = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": whole, **({} if fields else _ANY)}},
    }
    if kind.status:
        version["subresources"] = {"status": {}}
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower(), "listKind": f"{kind.kind}List"}
    # The groups under k8s.io are protected: without the approval the definition is refused.
    notes = {"api-approved.kubernetes.io": "unapproved, a test's"} if kind.group.endswith("k8s.io") else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource, "annotations": notes},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }
