"""The patch types: each takes the stored object and a body and returns the object that is asked for."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from .errors import ApiError, bad_request
from .objects import Obj, copied


class PatchType(StrEnum):
    """The media types of PATCH."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


MERGE_KEYS: dict[str, str] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "taints": "key",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""patchMergeKey of the lists that strategic merge patch joins; taints go by key alone, as seen on the real server."""

_SETS = frozenset({"finalizers"})


def merged(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    answer = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            answer.pop(key, None)
        else:
            answer[key] = merged(answer.get(key), value)
    return answer


def strategically_merged(target: Any, patch: Any, field: str = "") -> Any:
    """Apply a strategic merge patch: as a merge patch, but lists with a merge key join by it."""
    if isinstance(patch, list):
        return _merged_list(target if isinstance(target, list) else [], patch, field)
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    answer = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            answer[name] = [one for one in answer.get(name) or [] if one not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            answer.pop(key, None)
        else:
            answer[key] = strategically_merged(answer.get(key), value, key)
    return answer


def _merged_list(target: list[Any], patch: list[Any], field: str) -> list[Any]:
    if field in _SETS:
        return target + [one for one in patch if one not in target]
    key = MERGE_KEYS.get(field)
    if key is None or not all(isinstance(one, dict) for one in patch):
        return patch
    if any(one.get("$patch") == "replace" for one in patch):
        return [one for one in patch if "$patch" not in one]
    answer = list(target)
    for one in patch:
        at = next((index for index, old in enumerate(answer) if old.get(key) == one.get(key)), None)
        match (one.get("$patch"), at):
            case ("delete", None):
                continue
            case ("delete", int(index)):
                del answer[index]
            case (_, None):
                answer.append(one)
            case (_, int(index)):
                answer[index] = strategically_merged(answer[index], one)
    return answer


def json_patched(target: Obj, operations: Any) -> Obj:
    """Apply an RFC 6902 patch. Raises ApiError 422 where an operation does not fit, 400 where it is none."""
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    answer: Any = copied(target)
    for operation in operations:
        try:
            answer = _OPERATIONS[operation["op"]](answer, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            message = "the server rejected our request due to an error in our request"
            raise ApiError(422, "Invalid", message, {}) from error
    patched: Obj = answer
    return patched


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _value_at(root: Any, pointer: str) -> Any:
    at = root
    for step in _steps(pointer):
        at = at[int(step)] if isinstance(at, list) else at[step]
    return at


def _parent(root: Any, pointer: str) -> tuple[Any, str]:
    *above, last = _steps(pointer)
    at = root
    for step in above:
        at = at[int(step)] if isinstance(at, list) else at[step]
    return at, last


def _put(root: Any, pointer: str, value: Any) -> Any:
    if not pointer:
        return value
    parent, last = _parent(root, pointer)
    if isinstance(parent, list):
        index = len(parent) if last == "-" else int(last)
        if not 0 <= index <= len(parent):
            raise IndexError(index)
        parent.insert(index, value)
    else:
        parent[last] = value
    return root


def _drop(root: Any, pointer: str) -> Any:
    parent, last = _parent(root, pointer)
    del parent[int(last) if isinstance(parent, list) else last]
    return root


def _add(root: Any, operation: Obj) -> Any:
    return _put(root, operation["path"], operation["value"])


def _remove(root: Any, operation: Obj) -> Any:
    return _drop(root, operation["path"])


def _replace(root: Any, operation: Obj) -> Any:
    _value_at(root, operation["path"])
    return _put(_drop(root, operation["path"]), operation["path"], operation["value"])


def _test(root: Any, operation: Obj) -> Any:
    if _value_at(root, operation["path"]) != operation["value"]:
        raise ValueError(operation["path"])
    return root


def _move(root: Any, operation: Obj) -> Any:
    value = _value_at(root, operation["from"])
    return _put(_drop(root, operation["from"]), operation["path"], value)


def _copy(root: Any, operation: Obj) -> Any:
    value = _value_at(root, operation["from"])
    return _put(root, operation["path"], copied(value) if isinstance(value, dict) else value)


_OPERATIONS: dict[str, Callable[[Any, Obj], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
    "move": _move,
    "copy": _copy,
}
