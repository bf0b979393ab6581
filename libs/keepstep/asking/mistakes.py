"""Says what is wrong with a value that a person wrote: the field, what was given, what is allowed, what to do."""

import difflib
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from keepstep.contracts.topology import JOB_NAME

Where = tuple[str | int, ...]
Place = Callable[[Where], str]
"""Names where a mistake stands, before its field: ``line 3, `` or nothing."""

KEY = "[key]"
"""How pydantic says that the key of a table, not its value, is wrong."""
SHOWN = 60
"""Characters of a given value that an error repeats."""

DURATION = 'a duration: write seconds, as in 600, or ISO 8601, as in "PT10M"'
WHOLE = "a whole number"
NUMBER = "a number"
YES_OR_NO = "true or false"
TEXT = 'a text: write it in quotes, as in "text"'
LIST = 'a list: write it in brackets, as in ["pod", "job"]'
TABLE = "a table of fields"

KINDS: dict[str, str] = {
    "int": WHOLE,
    "float": NUMBER,
    "finite": NUMBER,
    "bool": YES_OR_NO,
    "string": TEXT,
    "time_delta": DURATION,
    "tuple": LIST,
    "list": LIST,
    "set": LIST,
    "frozen_set": LIST,
    "dict": TABLE,
    "model": TABLE,
}
"""What a field takes, by the first words of pydantic's type of error (``int_parsing``, ``model_type``)."""
SHAPES = {
    JOB_NAME: "is no name for a job; write up to 63 lower-case letters, digits and dashes, none of them at an end"
}
"""What a text must look like, in words, by the pattern of its field."""
BOUNDS: dict[str, tuple[str, str]] = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def nowhere(_where: Where) -> str:
    """Name no place: the values came from a command line."""
    return ""


def explain(error: ValidationError, model: type[BaseModel], place: Place = nowhere) -> str:
    """Return every mistake of a value of ``model``, each with its place, field and remedy."""
    return "; ".join(explained(error, model, place))


def explained(error: ValidationError, model: type[BaseModel], place: Place = nowhere) -> tuple[str, ...]:
    """Return the same mistakes one by one."""
    mistakes = error.errors(include_url=False)
    return tuple(f"{place(mistake['loc'])}{_field(mistake['loc'])}{_told(mistake, model)}" for mistake in mistakes)


def _field(where: Where) -> str:
    named = [str(part) for part in where if part != KEY]
    return ".".join(named) + (": " if named else "")


def _told(mistake: ErrorDetails, model: type[BaseModel]) -> str:
    kind, given = mistake["type"], shown(mistake["input"])
    match kind:
        case "extra_forbidden":
            return f"unknown field{_known(mistake['loc'], model)}"
        case "missing":
            return "is missing; it has no default"
        case "enum" | "literal_error":
            return f"{given} is not known{_choices(mistake)}"
        case "value_error":
            return mistake["msg"].removeprefix("Value error, ")
        case _:
            return f"{given} {_misfit(mistake)}"


def _known(where: Where, model: type[BaseModel]) -> str:
    known = sorted(_fields(model, where[:-1]))
    return _nearest(str(where[-1]), known) or (f"; known are {', '.join(known)}" if known else "")


def _choices(mistake: ErrorDetails) -> str:
    expected = str(mistake.get("ctx", {})["expected"]).replace(" or ", ", ")
    choices = [word.strip(" '") for word in expected.split(", ")]
    return f"; write one of {', '.join(choices)}{_nearest(str(mistake['input']), choices)}"


def _misfit(mistake: ErrorDetails) -> str:
    kind, allowed = mistake["type"], mistake.get("ctx", {})
    if kind in BOUNDS:
        name, words = BOUNDS[kind]
        return f"is out of range; write {words} {_bound(allowed[name])}"
    if kind == "string_pattern_mismatch":
        return SHAPES.get(allowed["pattern"]) or f"does not fit the pattern {allowed['pattern']}"
    expected = next((words for name, words in KINDS.items() if kind.startswith(f"{name}_")), None)
    return f"is not {expected}" if expected is not None else f"does not fit: {mistake['msg']}"


def shown(value: object) -> str:
    """Return a given value as people wrote it, at most sixty characters of it."""
    if isinstance(value, timedelta):
        return _bound(value)
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _bound(value: object) -> str:
    return f"{value.total_seconds():g} s" if isinstance(value, timedelta) else str(value)


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _fields(model: type[BaseModel], where: Where) -> frozenset[str]:
    """Return the fields of the models that ``where`` leads to; none where it leads into a table of free names."""
    found: list[type[BaseModel]] = [model]
    for part in where:
        if isinstance(part, str):
            fields = [one.model_fields[part] for one in found if part in one.model_fields]
            found = [inner for field in fields for inner in _models(field.annotation)]
    return frozenset(name for one in found for name in one.model_fields)


def _models(annotation: object) -> Iterable[type[BaseModel]]:
    """Yield the models that an annotation is made of: ``tuple[LogPattern, ...]`` holds one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, UnionType, Annotated, tuple, list, frozenset, dict):
        for inner in get_args(annotation):
            yield from _models(inner)
