"""Reads a policy from TOML or JSON; a mistake is told with the field's name and what to write instead."""

import difflib
import json
import tomllib
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from keepstep.cli.errors import Refused
from keepstep.contracts.policy import Policy


def load(path: Path | None) -> Policy:
    """Return the policy in the file, or the default policy for None; raises Refused with every mistake in one line."""
    if path is None:
        return Policy()
    try:
        return Policy.model_validate(_parse(path))
    except ValidationError as error:
        raise Refused(f"policy {path}: {explain(error, Policy)}") from error


def _parse(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"policy {path}: cannot be read: {error}") from error
    try:
        if path.suffix == ".json":
            parsed: object = json.loads(text)
            return parsed
        return tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML (name a JSON file *.json)"
        raise Refused(f"policy {path}: not {kind}: {error}") from error


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return every mistake with its field, what is wrong and, for an unknown field, the nearest known one."""
    mistakes = error.errors(include_url=False)
    return "; ".join(f"{_place(mistake['loc'])}{_remedy(mistake, model)}" for mistake in mistakes)


def _place(where: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in where) + (": " if where else "")


def _remedy(mistake: ErrorDetails, model: type[BaseModel]) -> str:
    where = mistake["loc"]
    if mistake["type"] != "extra_forbidden":
        return mistake["msg"].removeprefix("Value error, ")
    known = sorted(_fields(model, where[:-1]))
    near = difflib.get_close_matches(str(where[-1]), known, n=1)
    return f"unknown field; {f'did you mean {near[0]}?' if near else 'known are ' + ', '.join(known)}"


def _fields(model: type[BaseModel], where: tuple[str | int, ...]) -> frozenset[str]:
    """Return the fields of the model that ``where`` leads to; none where it leads into a union or a table."""
    for part in where:
        field = model.model_fields.get(str(part))
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, BaseModel):
            return frozenset()
        model = field.annotation
    return frozenset(model.model_fields)
