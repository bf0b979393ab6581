"""The envelope that every stored message carries, and the registry from type name to model."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import AwareDatetime

from keepstep.contracts.ids import EventId, IncidentId, NodeName, Pool, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Role
from keepstep.contracts.topology import JobRef

_REGISTRY: "dict[str, type[Message]]" = {}

POOL_KEY = "pool"
"""Key of messages that concern a whole pool."""


class Message(Frozen):
    """What is stored in the stream: the envelope; subclasses add the payload.

    ``generation`` and ``task`` say which life of the job the message is about, so that a late one is recognised.
    """

    version: ClassVar[int] = 1

    id: EventId
    time: AwareDatetime
    pool: Pool
    job: JobRef | None = None
    task: TaskUid | None = None
    node: NodeName | None = None
    generation: int | None = None
    incident: IncidentId | None = None
    cause: EventId | None = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Register the subclass under its name; two of one name are a programming error."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.__name__ in _REGISTRY and _REGISTRY[cls.__name__].__module__ != cls.__module__:
            raise TypeError(f"two messages are named {cls.__name__}")
        _REGISTRY[cls.__name__] = cls

    @property
    def type(self) -> str:
        """CloudEvents type: ``keepstep.<Name>.v<major>``."""
        return type_name(type(self))

    @property
    def key(self) -> str:
        """What orders this message: the job's uid, else the node, else the pool."""
        if self.job is not None:
            return self.job.uid
        return self.node if self.node is not None else POOL_KEY


class Event(Message):
    """A fact, named by a past participle."""


class Order(Message):
    """Something a person asks for, named by an imperative; ``by`` says who."""

    by: str = "operator"
    role: Role | None = None
    """The role by which the console let him; None for an order of the command line, which the bus lets in."""

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        """Return the order of its JSON; a field of a job or policy that nobody knows is refused. ValidationError."""
        return cls.model_validate_json(text)


def type_name(model: type[Message]) -> str:
    """Return the CloudEvents type of a message model."""
    return f"keepstep.{model.__name__}.v{model.version}"


def messages() -> Mapping[str, type[Message]]:
    """Return every concrete message model by its class name."""
    return _by_name(len(_REGISTRY))


@lru_cache(maxsize=1)
def _by_name(_known: int) -> Mapping[str, type[Message]]:
    """Return the models sorted, once for each time that one was added: every delivery is looked up here."""
    models = {name: model for name, model in sorted(_REGISTRY.items()) if model not in (Event, Order)}
    return MappingProxyType(models)


def cloud_headers(message: Message) -> dict[str, str]:
    """Return the CloudEvents 1.0 headers (NATS binding, binary mode)."""
    return {
        "ce-specversion": "1.0",
        "ce-id": message.id,
        "ce-type": message.type,
        "ce-source": f"/keepstep/{message.pool}",
        "ce-subject": message.key,
        "ce-time": message.time.isoformat(),
        "content-type": "application/json",
    }


def envelope(about: Message, **changes: Any) -> dict[str, Any]:
    """Return the envelope fields of a message that follows from ``about`` (its cause), to be splatted into a model."""
    fields: dict[str, Any] = {
        "time": about.time,
        "pool": about.pool,
        "job": about.job,
        "task": about.task,
        "node": about.node,
        "generation": about.generation,
        "incident": about.incident,
        "cause": about.id,
    }
    return fields | changes


def instant(value: datetime) -> str:
    """Return an instant as it stands in logs and on screen: ISO 8601 with milliseconds."""
    return value.isoformat(timespec="milliseconds")
