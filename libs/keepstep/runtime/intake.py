"""What a message from the stream turns out to be, before anybody decides on it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from keepstep.contracts.ids import key_of
from keepstep.contracts.message import Message, messages, type_name
from keepstep.contracts.model import mistakes
from keepstep.contracts.subjects import former_subject
from keepstep.contracts.subjects import subject_of as proper_subject
from keepstep.core.json_text import parsed
from keepstep.runtime.tail import Stored

_UNFAMILIAR = frozenset({"enum", "literal_error", "union_tag_invalid"})
"""Pydantic's words for a value outside a closed set: what a newer writer's message looks like to an older reader."""
_PLAIN = re.compile(r"[\w.:-]{1,128}", re.ASCII)
"""What an incident's id may look like: whoever garbles a message may write anything there."""


@dataclass(frozen=True)
class Heard:
    """A message for this stage."""

    message: Message


@dataclass(frozen=True)
class Unheard:
    """A message for others."""


@dataclass(frozen=True)
class Unknown:
    """A type, or a major version of one, that this version does not know."""


@dataclass(frozen=True)
class Unfamiliar:
    """A known type with a word this version does not know; an upgrade may be under way."""

    reason: str


@dataclass(frozen=True)
class Garbled:
    """Nothing that a retry could help."""

    reason: str


Reading = Heard | Unheard | Unknown | Unfamiliar | Garbled


def recognise(stored: Stored, hears: Iterable[type[Message]]) -> Reading:
    """Return what the stored message is to a stage that hears these types.

    A body that belongs under another subject is garbled: what follows from it would be said of another pool or key.
    The subject of four tokens is read too: what was stored before subjects told the speaker has to be folded again.
    """
    name = name_of(stored.subject)
    model = messages().get(name)
    if model is None or stored.headers.get("ce-type", type_name(model)) != type_name(model):
        return Unknown()
    if model not in hears:
        return Unheard()
    try:
        message = model.read(stored.body)
    except ValidationError as error:
        kinds = {detail["type"] for detail in error.errors()}
        return Unfamiliar(mistakes(error)) if kinds <= _UNFAMILIAR else Garbled(mistakes(error))
    belongs = subject_of(message)
    if belongs and stored.subject in (belongs, former_subject(belongs)):
        return Heard(message)
    return Garbled(f"the body belongs under {belongs or 'no subject'}")


def subject_of(message: Message) -> str:
    """Return where the message belongs; empty for one whose pool or key is empty, or who may not say it."""
    try:
        return proper_subject(message)
    except ValueError:
        return ""


def name_of(subject: str) -> str:
    """Return the message type's name out of ``keepstep.<pool>.<event>.<key>.<speaker>``; empty of another subject."""
    tokens = subject.split(".")
    return tokens[2] if len(tokens) >= 4 else ""


def lane_of(subject: str) -> str:
    """Return the key that a message without a readable body waits behind; a token that is no key's is its own lane."""
    tokens = subject.split(".")
    token = tokens[3] if len(tokens) >= 4 else ""
    try:
        return key_of(token) or "unreadable"
    except ValueError:
        return token


def incident_of(body: bytes) -> str | None:
    """Return the incident that a message names, as far as its body can be read at all."""
    return named_in(body, "incident")


def named_in(body: bytes, field: str) -> str | None:
    """Return the plain name that a field of a message holds, as far as its body can be read at all."""
    try:
        found = parsed(body)
    except ValueError:
        return None
    name = found.get(field) if isinstance(found, dict) else None
    return name if isinstance(name, str) and _PLAIN.fullmatch(name) else None
