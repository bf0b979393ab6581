"""One deterministic example of every message, built from the fields' types: what the golden events are made with."""

import types
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Annotated, Literal, NewType, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from keepstep.contracts.policy import Policy

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
_PATTERNED = {("JobSpec", "name"): "train", ("JobSpec", "checkpoint_dir"): "/checkpoints"}
_PATTERNED |= {("JobSpec", "resume_arg"): "--resume={path}"}


def example(model: type[BaseModel]) -> BaseModel:
    """Return an instance with every field set, optional ones too."""
    return model(**{name: _field(model, name, field) for name, field in model.model_fields.items()})


def _field(model: type[BaseModel], name: str, field: FieldInfo) -> object:
    if (model.__name__, name) in _PATTERNED:
        return _PATTERNED[model.__name__, name]
    return _value(field.annotation, name)


def _value(kind: object, name: str) -> object:  # noqa: PLR0911 - one return per kind of type
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, NewType):
        return _value(kind.__supertype__, name)
    if origin is Annotated:
        return _value(arguments[0], name)
    if origin in (Union, types.UnionType):
        return _value(arguments[0], name)
    if origin is Literal:
        return arguments[0]
    if origin is tuple and Ellipsis not in arguments:
        return tuple(_value(each, name) for each in arguments)
    if origin in (tuple, frozenset):
        return origin([_value(arguments[0], name)])
    if origin is dict:
        return {_value(arguments[0], name): _value(arguments[1], name)}
    if isinstance(kind, type):
        return _plain(kind, name)
    raise TypeError(f"no example for {kind!r} of field {name}")


def _plain(kind: type, name: str) -> object:
    if issubclass(kind, Policy):
        return Policy()
    if issubclass(kind, BaseModel):
        return example(kind)
    if issubclass(kind, Enum):
        return next(iter(kind))
    if kind is AwareDatetime:
        return WHEN
    table: dict[type, object] = {
        str: f"{name}-1",
        int: 1,
        float: 0.5,
        bool: True,
        datetime: WHEN,
        timedelta: timedelta(seconds=1.5),
    }
    return table[kind]
