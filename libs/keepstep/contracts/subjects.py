"""Where each message travels: ``keepstep.<pool>.<event>.<key>.<speaker>``, and of agents also ``.<task>``.

The subject tells who speaks, so that the server can hold everybody to his row of ``SAID_BY``: a service has no
permission for another's subjects, an agent none for those of another task. Readers hold the body to its subject.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from keepstep.contracts.events import SAID_BY
from keepstep.contracts.ids import Pool, subject_token
from keepstep.contracts.message import Message, Order

AGENT = "agent"
PEOPLE = "people"
NOBODY = "-"
"""In place of the task of an agent's word that names neither task nor node: nobody is given this subject."""


def _by_kind() -> Mapping[type[Message], tuple[str, ...]]:
    found: dict[type[Message], tuple[str, ...]] = defaultdict(tuple)
    for speaker, kinds in SAID_BY.items():
        for kind in kinds:
            found[kind] += (str(speaker),)
    return MappingProxyType(dict(found))


_SPEAKERS = _by_kind()


@cache
def speakers(kind: type[Message]) -> tuple[str, ...]:
    """Return who may say messages of this type; nobody for a type without a row."""
    return (PEOPLE,) if issubclass(kind, Order) else _SPEAKERS.get(kind, ())


def speaker_of(message: Message) -> str:
    """Return who says it: the one of its type, or the service that it names. Raises ValueError for one who may not."""
    may = speakers(type(message))
    named = getattr(message, "service", None) if len(may) > 1 else None
    who = may[0] if len(may) == 1 else str(named)
    if who not in may:
        raise ValueError(f"{who} does not say {type(message).__name__}, that is for {', '.join(may) or 'nobody'}")
    return who


def subject_of(message: Message) -> str:
    """Return where the message travels; raises ValueError for an empty pool or key, and for a wrong speaker."""
    who = speaker_of(message)
    about = f"keepstep.{subject_token(message.pool)}.{type(message).__name__}.{subject_token(message.key)}"
    return f"{about}.{who}.{_place(message)}" if who == AGENT else f"{about}.{who}"


def former_subject(subject: str) -> str:
    """Return how the same was addressed before subjects told who speaks: streams keep messages longer than a release.

    Nobody publishes there now, and a server with users lets nobody but the operator.
    """
    return ".".join(subject.split(".")[:4])


def _place(message: Message) -> str:
    return subject_token(message.task or message.node or NOBODY)


def kind_pattern(pool: Pool, kind: str, *, speaker: str, key: str = "*", place: str = "*") -> str:
    """Return the pattern of one speaker's subjects of one type: about every key, or one; of every task, or one."""
    about = f"keepstep.{subject_token(pool)}.{kind}.{_token(key)}.{speaker}"
    return f"{about}.{_token(place)}" if speaker == AGENT else about


def _token(key: str) -> str:
    return key if key == "*" else subject_token(key)
