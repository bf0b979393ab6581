"""Refuses what cannot be decoded into a native kind: a number where a text stands, a word where a table does."""

from collections.abc import Iterator
from typing import Any

import orjson

from . import kinds
from .errors import ApiError, Cause, bad_request
from .kinds import Kind
from .objects import Obj

_GO = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def check_types(kind: Kind, obj: Any) -> None:
    """Raise ApiError 400 for the first value of a type that its field does not have."""
    why = _misfit(kind, obj)
    if why:
        raise bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


def check_patch_types(kind: Kind, change: Any) -> None:
    """Raise ApiError 422 for a patch that leaves an object nobody can decode."""
    why = _misfit(kind, change)
    if why:
        cause = Cause("patch", f'Invalid value: "{orjson.dumps(change).decode()}": {why}')
        raise ApiError(422, "Invalid", f' "" is invalid: {cause.field}: {cause.message}', {"causes": [cause.body()]})


def _misfit(kind: Kind, obj: Any) -> str:
    if not isinstance(obj, dict):
        return f"json: cannot unmarshal {_GO[type(obj)]} into Go value of type {kind.kind}"
    for field, value, wanted in _typed(kind, obj):
        if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
            return f"json: cannot unmarshal {_GO[type(value)]} into Go struct field {field}"
    return ""


def _typed(kind: Kind, obj: Obj) -> Iterator[tuple[str, Any, type]]:
    meta = obj.get("metadata")
    yield "ObjectMeta.metadata", meta, dict
    for part in ("labels", "annotations"):
        yield from _texts(f"ObjectMeta.metadata.{part}", (meta or {}).get(part))
    for part in ("finalizers", "ownerReferences"):
        yield f"ObjectMeta.metadata.{part}", (meta or {}).get(part), list
    if kind is kinds.CONFIG_MAP:
        yield from _texts("ConfigMap.data", obj.get("data"))
    if kind not in (kinds.POD, kinds.JOB):
        return
    spec = obj.get("spec")
    yield "Spec.spec", spec, dict
    pod = spec if kind is kinds.POD else ((spec or {}).get("template") or {}).get("spec")
    yield "PodSpec.spec", pod, dict
    for group in ("containers", "initContainers"):
        for container in (pod or {}).get(group) or []:
            yield from _container(container)


def _texts(field: str, table: Any) -> Iterator[tuple[str, Any, type]]:
    yield field, table, dict
    for value in (table or {}).values():
        yield field, value, str


def _container(container: Obj) -> Iterator[tuple[str, Any, type]]:
    for part in ("name", "image"):
        yield f"Container.spec.containers.{part}", container.get(part), str
    for part in ("command", "args"):
        yield f"Container.spec.containers.{part}", container.get(part), list
        for word in container.get(part) or []:
            yield f"Container.spec.containers.{part}", word, str
    for variable in container.get("env") or []:
        yield "EnvVar.spec.containers.env.value", variable.get("value"), str
