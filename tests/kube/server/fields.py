"""Trees of fields, in the form of FieldsV1: what an object says, what changed, who clashes with whom.

``f:name`` is a field, ``k:{"name":"x"}`` an item of a list that is a map, ``v:"x"`` a member of a set; an empty tree is
a leaf.
"""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from .objects import Obj

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
_DEFAULTS = {"protocol": "TCP"}
_STAY = frozenset({"metadata", "spec", "status"})


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


def fields(value: Any, field: str) -> Tree:
    children = _items(value, field)
    if children is None:
        return {}
    return {step: ({".": {}} if step[0] == "k" else {}) | fields(child, name) for step, name, child in children}


def changed(old: Any, new: Any, field: str) -> Tree | None:
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
            part = changed(was[step], child, name)
        else:
            part = ({".": {}} if step[0] == "k" else {}) | fields(child, name)
        if part is not None:
            answer[step] = part
    return answer or None


def minus(tree: Tree, taken: Tree) -> Tree:
    answer: Tree = {}
    for step, below in tree.items():
        if step not in taken:
            answer[step] = below
        elif below and taken[step] and (left := minus(below, taken[step])):
            answer[step] = left
    return answer


def joined(one: Tree, other: Tree) -> Tree:
    answer = dict(one)
    for step, below in other.items():
        answer[step] = joined(answer[step], below) if step in answer else below
    return answer


def present(tree: Tree, value: Any, field: str) -> Tree:
    """Return the part of the tree whose fields exist."""
    found = {step: (name, child) for step, name, child in _items(value, field) or ()}
    answer: Tree = {}
    for step, below in tree.items():
        if step == ".":
            answer[step] = below
        elif step in found:
            left = present(below, found[step][1], found[step][0]) if below else below
            if left or not below:
                answer[step] = left
    return answer


def shrank(old: Any, new: Any) -> bool:
    """Tell whether a field may have gone: then the owners' trees are looked through."""
    if old == new:
        return False
    if not isinstance(old, dict) or not isinstance(new, dict):
        return isinstance(old, list | dict)
    return any(key not in new or shrank(value, new[key]) for key, value in old.items())


def clashes(tree: Tree, asked: Any, stored: Any, path: str, field: str = "") -> Iterator[str]:
    """Yield the paths that ``tree`` owns, that are asked for, and whose stored value differs."""
    was = {step: child for step, _, child in _items(stored, field) or ()}
    for step, name, child in _items(asked, field) or ():
        if step not in tree or step not in was or was[step] == child:
            continue
        here = path + _step_text(step)
        if _items(child, name) is None:
            yield here
        elif tree[step]:
            yield from clashes(tree[step], child, was[step], here, name)


def _step_text(step: str) -> str:
    if step[0] == "f":
        return "." + step[2:]
    if step[0] == "v":
        return f"[={step[2:]}]"
    return "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(step[2:]).items()) + "]"


def overlaid(target: Any, asked: Any, field: str) -> Any:
    if asked in ({}, []) and type(target) is type(asked):
        return target
    if _items(asked, field) is None or type(target) is not type(asked):
        return asked
    if isinstance(asked, dict):
        return target | {key: overlaid(target.get(key), value, key) for key, value in asked.items()}
    if field in _SETS:
        return target + [one for one in asked if one not in target]
    keys = _LIST_MAPS[field]
    answer = {_key_text(one, keys): one for one in target}
    for one in asked:
        key = _key_text(one, keys)
        answer[key] = overlaid(answer.get(key), one, "")
    return list(answer.values())


def drop(target: Any, tree: Tree, field: str = "") -> None:
    """Take the tree's leaves out of ``target``."""
    for step, below in tree.items():
        if step[0] == "f":
            name = step[2:]
            if not isinstance(target, dict) or name not in target:
                continue
            if below:
                drop(target[name], below, name)
            if not below or (target[name] in ({}, []) and name not in _STAY):
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
                drop(one, below)
