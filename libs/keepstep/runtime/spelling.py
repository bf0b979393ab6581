"""The JSON of a fold's state, of which only what changed is spelled again.

The fold of a big job is written at each of its changes, and most of it is its tasks, of which one change touches a few.
What a fold holds is frozen (``contracts/model.py``) and replaced, never changed in place, so the same object has the
same JSON. Each write of a job of 125 tasks took 0.6 ms to spell them all.
"""

from collections.abc import Iterable
from functools import cache
from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic_core import to_json

_Parts = dict[object, tuple[object, str]]


class Spelling:
    """The JSON of one fold's state, from one write to the next."""

    def __init__(self) -> None:
        self._fields: dict[str, tuple[object, str]] = {}
        self._parts: dict[str, _Parts] = {}
        self._wrapped: dict[type[BaseModel], Spelling] = {}

    def of(self, state: BaseModel) -> str:
        """Return what ``state.model_dump_json()`` would."""
        for name, value in state.__dict__.items():
            known = self._fields.get(name)
            if known is None or known[0] is not value:
                self._fields[name] = (value, self._spelled(state, name, value))
        return "{" + ",".join(text for name in state.__dict__ if (text := self._fields[name][1])) + "}"

    def _spelled(self, state: BaseModel, name: str, value: object) -> str:
        kinds = _kinds(type(state), name)
        if isinstance(value, BaseModel) and type(value) in kinds and len(type(state).model_fields) == 1:
            return f'"{name}":{self._wrapped.setdefault(type(value), Spelling()).of(value)}'
        if isinstance(value, dict) and value and kinds.issuperset(map(type, value.values())):
            parts = self._renewed(name, value.items())
            return f'"{name}":{{{",".join(f"{to_json(key).decode()}:{parts[key][1]}" for key in value)}}}'
        if isinstance(value, tuple) and value and kinds.issuperset(map(type, value)):
            parts = self._renewed(name, ((id(part), part) for part in value))
            return f'"{name}":[{",".join(parts[id(part)][1] for part in value)}]'
        return state.model_dump_json(include={name})[1:-1]

    def _renewed(self, name: str, parts: Iterable[tuple[object, BaseModel]]) -> _Parts:
        """Return the parts of a field with the JSON of each, known or new; those that are gone are forgotten."""
        before, renewed = self._parts.get(name, {}), _Parts()
        for key, part in parts:
            known = before.get(key)
            renewed[key] = known if known is not None and known[0] is part else (part, part.model_dump_json())
        self._parts[name] = renewed
        return renewed


@cache
def _kinds(model: type[BaseModel], name: str) -> frozenset[type]:
    """Return the models, exactly, whose JSON inside this field is the one they have alone: of it, or of its parts."""
    field = model.model_fields[name]
    declared, inside = field.annotation, get_args(field.annotation)
    if field.exclude:
        return frozenset()
    if get_origin(declared) is dict:
        key, value = inside
        options = (value,) if getattr(key, "__supertype__", key) is str else ()
    elif get_origin(declared) is tuple:
        options = inside[:1] if inside[1:] == (...,) else ()
    else:
        options = inside or (declared,)
    return frozenset(kind for kind in options if isinstance(kind, type) and issubclass(kind, BaseModel))
