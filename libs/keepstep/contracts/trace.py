"""One trace per incident: its ids are derived, so that a message said again after a crash is in the same place.

What is published about an incident carries them in the header ``traceparent`` of W3C Trace Context
(https://www.w3.org/TR/trace-context), whether anybody exports spans or not: it costs one hash.
"""

import re
from dataclasses import dataclass

from keepstep.contracts.ids import EventId, IncidentId, derive
from keepstep.contracts.message import Message

HEADER = "traceparent"
_TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
_TOLD = re.compile(r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-[0-9a-f]{2}")


@dataclass(frozen=True)
class Place:
    """Trace and span, as hexadecimal digits: 32 and 16 of them."""

    trace: str
    span: str


def trace_of(incident: IncidentId) -> str:
    """Return the incident's trace: its own id, which has the right form, or what is derived from another's."""
    return str(incident) if _TRACE.fullmatch(incident) else derive("trace", incident)


def root_of(incident: IncidentId) -> str:
    """Return the span of the whole incident."""
    return derive("incident span", incident)[:16]


def span_of(message: EventId) -> str:
    """Return the span of a message: from what it follows from until it is said."""
    return derive("message span", message)[:16]


def stage_of(incident: IncidentId, name: str) -> str:
    """Return the span of one of the incident's stages."""
    return derive("stage span", incident, name)[:16]


def trace_headers(message: Message) -> dict[str, str]:
    """Return the header that puts a message into its incident's trace; none for one of no incident."""
    if message.incident is None:
        return {}
    return {HEADER: f"00-{trace_of(message.incident)}-{span_of(message.id)}-01"}


def place_of(header: str | None) -> Place | None:
    """Return where a header says that its message belongs; None for one that says nothing valid."""
    found = None if header is None else _TOLD.fullmatch(header)
    return None if found is None else Place(found["trace"], found["span"])
