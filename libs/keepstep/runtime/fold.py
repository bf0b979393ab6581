"""One fold of a service, in memory and as it is written: state, the last sequence in it, and what that made it say."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import AwareDatetime, ValidationError

from keepstep.contracts.message import Message, messages
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.ports.errors import Fenced
from keepstep.runtime.packing import pack, unpack
from keepstep.runtime.spelling import Spelling

S = TypeVar("S", bound=Frozen)
R = TypeVar("R", bound=Frozen)


class Letter(Frozen):
    """One message of an outbox: its type's name and its JSON, packed if long."""

    name: str
    body: str


class Record(Frozen):
    """What stands in the store for one fold."""

    fence: int
    applied: int
    state: str
    """Its JSON, packed if long."""
    outbox: tuple[Letter, ...] = ()
    job: JobRef | None = None
    restated: AwareDatetime | None = None


@dataclass(frozen=True)
class Fold(Generic[S]):
    """A fold in memory: its state, the last sequence it applied, and what that made it say."""

    state: S
    applied: int
    outbox: tuple[Message, ...] = ()
    job: JobRef | None = None
    said: bool = True
    """The outbox is known to be in the stream."""
    restated: datetime | None = None
    """When the whole fold was last put into the stream, or began; None if it is older than that custom."""


def written(fold: Fold[S], *, fence: int, spelling: Spelling | None = None) -> bytes:
    """Return what stands in the store for the fold; ``spelling`` knows it from the write before."""
    record = Record(
        fence=fence,
        applied=fold.applied,
        state=pack(fold.state.model_dump_json() if spelling is None else spelling.of(fold.state)),
        outbox=tuple(Letter(name=type(said).__name__, body=pack(said.model_dump_json())) for said in fold.outbox),
        job=fold.job,
        restated=fold.restated,
    )
    return record.model_dump_json().encode()


def read_fold(model: type[S], body: bytes, *, fence: int) -> Fold[S] | None:
    """Return the fold that was written, or None if this version cannot read it. Raises Fenced if a successor wrote."""
    record = parsed(Record, body)
    if record is None:
        return None
    if record.fence > fence:
        raise Fenced(f"a fold was written under lease {record.fence}, this is {fence}")
    try:
        state = model.model_validate_json(unpack(record.state))
        outbox = tuple(messages()[letter.name].model_validate_json(unpack(letter.body)) for letter in record.outbox)
    except (ValidationError, ValueError, KeyError):
        return None
    return Fold(state, record.applied, outbox, record.job, said=False, restated=record.restated)


def parsed(model: type[R], body: bytes) -> R | None:
    """Return what is held, or None if it is garbled: then it is written anew from memory or from the stream."""
    try:
        return model.model_validate_json(body)
    except ValidationError:
        return None


def noted_as_said(fold: Fold[S]) -> Fold[S]:
    """Return the fold with its outbox known to be in the stream."""
    return replace(fold, said=True)
