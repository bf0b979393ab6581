"""Who owns which field: metadata.managedFields, enough of it for server-side apply and its conflicts.

Trees have the form of FieldsV1: ``f:name`` for a field, ``k:{"name":"x"}`` for an item of a list that is a map,
``v:"x"`` for a member of a set, an empty tree for a leaf.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import orjson

from .errors import ApiError
from .objects import Obj, copied, instant

Tree = dict[str, Any]

_LIST_MAPS: dict[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "ports": ("containerPort", "protocol"),
    "replicatedJobs": ("name",),
    "replicatedJobsStatus": ("name",),
    "runtimePatches": ("manager",),
    "schedulingGates": ("name",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
"""x-kubernetes-list-map-keys; the lists that are not here (taints, tolerations) belong to one manager as a whole."""

_SETS = frozenset({"finalizers"})
_UNOWNED = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generateName",
        "selfLink",
        "managedFields",
    }
)
_DEFAULTS = {"protocol": "TCP"}


def record_update(new: Obj, old: Obj | None, *, manager: str, subresource: str, now: datetime) -> None:
    """Give the fields that a create or update changed to ``manager``; those that are gone belong to nobody."""
    entries = copied(old)["metadata"].get("managedFields", []) if old is not None else []
    was, body = _ownable(old) if old is not None else {}, _ownable(new)
    fields, shrank = _changed(was, body, ""), _shrank(was, body)
    mine = _entry(new, manager, "Update", subresource)
    kept = []
    for entry in entries:
        tree = entry["fieldsV1"]
        if _identity(entry) != _identity(mine):
            tree = _minus(tree, fields or {})
        if shrank:
            tree = _present(tree, body, "")
        if tree:
            kept.append(entry | {"fieldsV1": tree})
    if fields:
        _give(kept, mine, fields, now)
    _set(new, kept)


def claim(new: Obj, body: Obj, *, manager: str, now: datetime) -> None:
    """Make ``manager`` the owner, by apply, of what it created by apply."""
    _set(new, [])
    entries: list[Obj] = []
    _give(entries, _entry(new, manager, "Apply", ""), _fields(_ownable(body), ""), now)
    _set(new, entries)


def applied(old: Obj, body: Obj, *, manager: str, subresource: str, force: bool, now: datetime) -> Obj:
    """Apply ``body`` onto ``old``. Raises ApiError 409 where another manager holds a field with another value."""
    mine = _entry(old, manager, "Apply", subresource)
    asked = _ownable(body)
    tree = _fields(asked, "")
    entries: list[Obj] = copied(old)["metadata"].get("managedFields", [])
    others = [entry for entry in entries if _identity(entry) != _identity(mine)]
    before: Tree = next((entry["fieldsV1"] for entry in entries if _identity(entry) == _identity(mine)), {})
    held = [(entry, list(_clashes(entry["fieldsV1"], asked, _ownable(old), ""))) for entry in others]
    if any(paths for _, paths in held) and not force:
        raise _conflict((entry, paths) for entry, paths in held if paths)
    new: Obj = _overlaid(copied(old), asked, "")
    dropped = _minus(before, tree)
    for entry in others:
        dropped = _minus(dropped, entry["fieldsV1"])
    _drop(new, dropped)
    fresh = _changed(_ownable(old), _ownable(new), "") or {}
    kept = [entry | {"fieldsV1": left} for entry in others if (left := _minus(entry["fieldsV1"], fresh))]
    same = next((entry for entry in entries if _identity(entry) == _identity(mine)), None)
    if same is not None and same["fieldsV1"] == tree and not fresh:
        kept = entries
    else:
        _give(kept, mine, tree, now)
    if asked.get("metadata") or "resourceVersion" in body.get("metadata", {}):
        new["metadata"]["resourceVersion"] = body["metadata"].get("resourceVersion", old["metadata"]["resourceVersion"])
    _set(new, kept)
    return new


def _conflict(held: Iterable[tuple[Obj, list[str]]]) -> ApiError:
    causes, told = [], []
    for entry, paths in held:
        who = json.dumps(entry["manager"])
        if entry["operation"] == "Update":
            who += f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
            who += f" using {entry['apiVersion']} at {entry['time']}"
        causes += [{"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": at} for at in paths]
        listed = f": {paths[0]}" if len(paths) == 1 else ":\n- " + "\n- ".join(paths)
        told.append(f"conflict{'s' if len(paths) > 1 else ''} with {who}{listed}")
    count = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    return ApiError(409, "Conflict", f"Apply failed with {count}: " + "\n".join(told), {"causes": causes})


def _ownable(obj: Obj) -> Obj:
    meta = {key: value for key, value in obj.get("metadata", {}).items() if key not in _UNOWNED}
    body = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    return body | ({"metadata": meta} if meta else {})


def _entry(obj: Obj, manager: str, operation: str, subresource: str) -> Obj:
    entry = {"manager": manager, "operation": operation, "apiVersion": obj["apiVersion"]}
    return entry | ({"subresource": subresource} if subresource else {})


def _identity(entry: Obj) -> tuple[str, ...]:
    return entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", "")


def _give(entries: list[Obj], mine: Obj, fields: Tree, now: datetime) -> None:
    held = next((entry for entry in entries if _identity(entry) == _identity(mine)), None)
    if held is not None:
        held["fieldsV1"] = _joined(held["fieldsV1"], fields)
        held["time"] = instant(now)
    else:
        entries.append(mine | {"time": instant(now), "fieldsType": "FieldsV1", "fieldsV1": fields})


def _set(obj: Obj, entries: list[Obj]) -> None:
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _items(value: Any, field: str) -> Iterator[tuple[str, str, Any]] | None:
    """Yield (step, child's field name, child) of what is not a leaf; None for a leaf."""
    if isinstance(value, dict) and value:
        return (("f:" + key, key, child) for key, child in value.items())
    if isinstance(value, list) and value:
        if field in _SETS:
            return (("v:" + orjson.dumps(one).decode(), "", None) for one in value)
        keys = _LIST_MAPS.get(field)
        if keys and all(isinstance(one, dict) and keys[0] in one for one in value):
            return (("k:" + _key_text(one, keys), "", one) for one in value)
    return None


def _key_text(one: Obj, keys: tuple[str, ...]) -> str:
    named = {key: one.get(key, _DEFAULTS.get(key)) for key in keys}
    return orjson.dumps(named).decode()


def _fields(value: Any, field: str) -> Tree:
    children = _items(value, field)
    if children is None:
        return {}
    return {step: ({".": {}} if step[0] == "k" else {}) | _fields(child, name) for step, name, child in children}


def _changed(old: Any, new: Any, field: str) -> Tree | None:
    """Return what is set in ``new`` and not so in ``old``; None for nothing."""
    if old == new:
        return None
    children = _items(new, field)
    if children is None:
        return {}
    was = {step: child for step, _, child in _items(old, field) or ()} if type(old) is type(new) else {}
    answer: Tree = {}
    for step, name, child in children:
        if step in was:
            part = _changed(was[step], child, name)
        else:
            part = ({".": {}} if step[0] == "k" else {}) | _fields(child, name)
        if part is not None:
            answer[step] = part
    return answer or None


def _minus(tree: Tree, taken: Tree) -> Tree:
    answer: Tree = {}
    for step, below in tree.items():
        if step not in taken:
            answer[step] = below
        elif below and taken[step] and (left := _minus(below, taken[step])):
            answer[step] = left
    return answer


def _joined(one: Tree, other: Tree) -> Tree:
    answer = dict(one)
    for step, below in other.items():
        answer[step] = _joined(answer[step], below) if step in answer else below
    return answer


def _present(tree: Tree, value: Any, field: str) -> Tree:
    """Return the part of the tree whose fields exist."""
    found = {step: (name, child) for step, name, child in _items(value, field) or ()}
    answer: Tree = {}
    for step, below in tree.items():
        if step == ".":
            answer[step] = below
        elif step in found:
            left = _present(below, found[step][1], found[step][0]) if below else below
            if left or not below:
                answer[step] = left
    return answer


def _shrank(old: Any, new: Any) -> bool:
    """Tell whether a field may have gone: then the owners' trees are looked through."""
    if old == new:
        return False
    if not isinstance(old, dict) or not isinstance(new, dict):
        return isinstance(old, list | dict)
    return any(key not in new or _shrank(value, new[key]) for key, value in old.items())


def _clashes(tree: Tree, asked: Any, stored: Any, path: str, field: str = "") -> Iterator[str]:
    """Yield the paths that ``tree`` owns, that are asked for, and whose stored value differs."""
    was = {step: child for step, _, child in _items(stored, field) or ()}
    for step, name, child in _items(asked, field) or ():
        if step not in tree or step not in was or was[step] == child:
            continue
        here = path + _step_text(step)
        if _items(child, name) is None:
            yield here
        elif tree[step]:
            yield from _clashes(tree[step], child, was[step], here, name)


def _step_text(step: str) -> str:
    if step[0] == "f":
        return "." + step[2:]
    if step[0] == "v":
        return f"[={step[2:]}]"
    return "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(step[2:]).items()) + "]"


def _overlaid(target: Any, asked: Any, field: str) -> Any:
    if asked in ({}, []) and type(target) is type(asked):
        return target
    if _items(asked, field) is None or type(target) is not type(asked):
        return asked
    if isinstance(asked, dict):
        return target | {key: _overlaid(target.get(key), value, key) for key, value in asked.items()}
    if field in _SETS:
        return target + [one for one in asked if one not in target]
    keys = _LIST_MAPS[field]
    answer = {_key_text(one, keys): one for one in target}
    for one in asked:
        key = _key_text(one, keys)
        answer[key] = _overlaid(answer.get(key), one, "")
    return list(answer.values())


def _drop(target: Any, tree: Tree, field: str = "") -> None:
    """Take the tree's leaves out of ``target``."""
    for step, below in tree.items():
        if step[0] == "f":
            name = step[2:]
            if not isinstance(target, dict) or name not in target:
                continue
            if below:
                _drop(target[name], below, name)
            if not below or target[name] in ({}, []):
                del target[name]
        elif isinstance(target, list):
            _drop_item(target, step, below, field)


def _drop_item(target: list[Any], step: str, below: Tree, field: str) -> None:
    for one in list(target):
        if step[0] == "v" and orjson.dumps(one).decode() == step[2:]:
            target.remove(one)
        elif step[0] == "k" and _key_text(one, _LIST_MAPS[field]) == step[2:]:
            if "." in below:
                target.remove(one)
            else:
                _drop(one, below)
