"""Label and field selectors, as query strings and as objects."""

import re
from collections.abc import Callable

from .errors import bad_request
from .objects import Obj, labels_of

Test = Callable[[Obj], bool]

_SET = re.compile(r"^(?P<key>[^\s!=]+)\s+(?P<op>in|notin)\s+\((?P<values>[^)]*)\)$")
_EQUALS = re.compile(r"^(?P<key>[^\s!=]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s=!()]*)$")
_PARTS = re.compile(r",(?![^(]*\))")
_FIELDS = {
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.schedulerName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.unschedulable",
    "status.phase",
    "status.podIP",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.uid",
    "reason",
    "type",
    "source",
}


def by_labels(text: str) -> Test:
    """Read a labelSelector. Raises ApiError 400 for one that cannot be read."""
    tests = [_label_test(part.strip()) for part in _PARTS.split(text) if part.strip()]
    return lambda obj: all(test(labels_of(obj)) for test in tests)


def by_fields(text: str) -> Test:
    """Read a fieldSelector; an unknown field is a 400 as on the real server."""
    tests = [_field_test(part.strip()) for part in text.split(",") if part.strip()]
    return lambda obj: all(test(obj) for test in tests)


def matches(selector: Obj | None, labels: dict[str, str]) -> bool:
    """Tell whether a metav1.LabelSelector takes these labels; None takes nothing, an empty one all."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression(one, labels) for one in selector.get("matchExpressions") or ())


def _expression(one: Obj, labels: dict[str, str]) -> bool:
    key, values = one["key"], one.get("values") or []
    match one["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise bad_request(f'"{other}" is not a valid label selector operator')


def _label_test(part: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUALS.match(part):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if part.startswith("!"):
        return lambda labels: part[1:].strip() not in labels
    if re.fullmatch(r"[A-Za-z0-9./_-]+", part):
        return lambda labels: part in labels
    raise bad_request(f"unable to parse requirement: found '{part}', expected: a label selector")


def _field_test(part: str) -> Test:
    if not (found := _EQUALS.match(part)):
        raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
    key, value, same = found["key"], found["value"], found["op"] != "!="
    if key not in _FIELDS:
        raise bad_request(f"field label not supported: {key}")
    path = key.split(".")
    return lambda obj: (_text_at(obj, path) == value) is same


def _text_at(obj: Obj, path: list[str]) -> str:
    at: object = obj
    for step in path:
        at = at.get(step) if isinstance(at, dict) else None
    match at:
        case None:
            return "false" if path[-1] == "unschedulable" else ""
        case bool():
            return str(at).lower()
        case _:
            return str(at)
