"""Changes in JSON that leave the original as it is."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from keepstep.adapters.kube_json import NOTHING, JsonObject

Path: TypeAlias = tuple[str | int, ...]


def put(source: JsonObject, path: Path, value: object) -> JsonObject:
    """Return ``source`` with ``value`` at ``path``; objects on the way that are missing are made."""
    changed = _put(source, path, value)
    return changed if isinstance(changed, Mapping) else NOTHING


def at(source: JsonObject, path: Path) -> JsonObject:
    """Return the object at ``path``, empty when there is none."""
    found: object = source
    for step in path:
        match found, step:
            case Mapping(), str():
                found = found.get(step)
            case list(), int() if step < len(found):
                found = found[step]
            case _:
                return NOTHING
    return found if isinstance(found, Mapping) else NOTHING


def spelled(path: Path) -> str:
    """Return the path as people write it: ``spec.tasks[0].template``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def without(source: JsonObject, *names: str) -> JsonObject:
    """Return ``source`` less these fields."""
    return {name: value for name, value in source.items() if name not in names}


def _put(source: object, path: Sequence[str | int], value: object) -> object:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(source) if isinstance(source, list) else []
        items[step] = _put(items[step], rest, value)
        return items
    table = dict(source) if isinstance(source, Mapping) else {}
    table[step] = _put(table.get(step), rest, value)
    return table
