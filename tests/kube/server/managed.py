"""Who owns which field: metadata.managedFields, enough of it for server-side apply and its conflicts."""

import json
from collections.abc import Iterable
from datetime import datetime

from .errors import ApiError
from .fields import Tree, changed, clashes, drop, fields, joined, minus, overlaid, present, shrank
from .objects import Obj, copied, instant

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


def record_update(new: Obj, old: Obj | None, *, manager: str, subresource: str, now: datetime) -> None:
    """Give the fields that a create or update changed to ``manager``; those that are gone belong to nobody."""
    entries = copied(old)["metadata"].get("managedFields", []) if old is not None else []
    was, body = _ownable(old) if old is not None else {}, _ownable(new)
    fresh, less = changed(was, body, ""), shrank(was, body)
    mine = _entry(new, manager, "Update", subresource)
    kept = []
    for entry in entries:
        tree = entry["fieldsV1"]
        if _identity(entry) != _identity(mine):
            tree = minus(tree, fresh or {})
        if less:
            tree = present(tree, body, "")
        if tree:
            kept.append(entry | {"fieldsV1": tree})
    if fresh:
        _give(kept, mine, fresh, now)
    _set(new, kept)


def claim(new: Obj, body: Obj, *, manager: str, now: datetime) -> None:
    """Make ``manager`` the owner, by apply, of what it created by apply."""
    _set(new, [])
    entries: list[Obj] = []
    _give(entries, _entry(new, manager, "Apply", ""), fields(_ownable(body), ""), now)
    _set(new, entries)


def applied(old: Obj, body: Obj, *, manager: str, subresource: str, force: bool, now: datetime) -> Obj:
    """Apply ``body`` onto ``old``. Raises ApiError 409 where another manager holds a field with another value."""
    mine = _entry(old, manager, "Apply", subresource)
    asked = _ownable(body)
    tree = fields(asked, "")
    entries: list[Obj] = copied(old)["metadata"].get("managedFields", [])
    others = [entry for entry in entries if _identity(entry) != _identity(mine)]
    before: Tree = next((entry["fieldsV1"] for entry in entries if _identity(entry) == _identity(mine)), {})
    held = [(entry, list(clashes(entry["fieldsV1"], asked, _ownable(old), ""))) for entry in others]
    if any(paths for _, paths in held) and not force:
        raise _conflict((entry, paths) for entry, paths in held if paths)
    new: Obj = overlaid(copied(old), asked, "")
    dropped = minus(before, tree)
    for entry in others:
        dropped = minus(dropped, entry["fieldsV1"])
    drop(new, dropped)
    fresh = changed(_ownable(old), _ownable(new), "") or {}
    kept = [entry | {"fieldsV1": left} for entry in others if (left := minus(entry["fieldsV1"], fresh))]
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
        held["fieldsV1"] = joined(held["fieldsV1"], fields)
        held["time"] = instant(now)
    else:
        entries.append(mine | {"time": instant(now), "fieldsType": "FieldsV1", "fieldsV1": fields})


def _set(obj: Obj, entries: list[Obj]) -> None:
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)
