"""Reads the JSON of an API server without a model of it: a path that is absent or of another type reads as empty.

Servers of many versions answer, and controllers leave out what is zero; so absence is a value here, not a mistake.
Objects are told by ``dict``, which is what the parser makes: asking for a Mapping took a fifth of a big list's time.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

JsonObject: TypeAlias = Mapping[str, object]

NOTHING: JsonObject = {}


def table(source: JsonObject, *path: str) -> JsonObject:
    """Return the object at ``path``, empty when there is none."""
    found: object = source
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else NOTHING


def rows(source: JsonObject, *path: str) -> tuple[JsonObject, ...]:
    """Return the objects of the list at ``path``."""
    found = table(source, *path[:-1]).get(path[-1])
    return tuple(one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def words(source: JsonObject, *path: str) -> tuple[str, ...]:
    """Return the texts of the list at ``path``."""
    found = table(source, *path[:-1]).get(path[-1])
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def numbers(source: JsonObject, *path: str) -> tuple[int, ...]:
    """Return the whole numbers of the list at ``path``."""
    found = table(source, *path[:-1]).get(path[-1])
    return tuple(one for one in found if isinstance(one, int)) if isinstance(found, list) else ()


def text(source: JsonObject, *path: str) -> str:
    """Return the text at ``path`` or ""."""
    found = table(source, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) else ""


def number(source: JsonObject, *path: str, default: int = 0) -> int:
    """Return the whole number at ``path`` or ``default``."""
    found = table(source, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) else default


def flag(source: JsonObject, *path: str) -> bool:
    """Return whether ``true`` stands at ``path``."""
    return table(source, *path[:-1]).get(path[-1]) is True


def instant(source: JsonObject, *path: str) -> datetime | None:
    """Return the RFC 3339 instant at ``path``; None where there is none."""
    found = text(source, *path)
    return datetime.fromisoformat(found) if found else None


def condition(source: JsonObject, kind: str) -> JsonObject:
    """Return ``status.conditions[type=kind]``, empty when it was never set."""
    return next((one for one in rows(source, "status", "conditions") if one.get("type") == kind), NOTHING)


def holds(source: JsonObject, kind: str) -> bool:
    """Return whether the condition is True now."""
    return text(condition(source, kind), "status") == "True"
