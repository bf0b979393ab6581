"""Ids are derived from content, so that saying a thing twice says the same thing.

A redelivered message, a restarted service and a replayed stream all arrive at the same id; consumers deduplicate on it.
"""

import hashlib
import json
import re
from typing import NewType

Pool = NewType("Pool", str)
JobUid = NewType("JobUid", str)
TaskUid = NewType("TaskUid", str)
NodeName = NewType("NodeName", str)
EventId = NewType("EventId", str)
IncidentId = NewType("IncidentId", str)

ID_LENGTH = 32
_ODD = re.compile(r"[^A-Za-z0-9-]")
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
"""What a node can be called anywhere: a Kubernetes node is a DNS subdomain, our own nodes are folders besides."""
NODE_NAME_SAID = "a node's name is at most 253 letters, digits and . _ -, as keepstep node list shows it"


def derive(*parts: str | int | None) -> str:
    """Return 32 hex digits of SHA-256 over the parts; the JSON list keeps ("a", "bc") apart from ("ab", "c")."""
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def observation_id(kind: str, task: TaskUid, generation: int, *, rank: int | None, natural: str = "") -> EventId:
    """Return the id of something an agent saw.

    ``natural`` tells two sightings of one kind on one rank apart: empty for an exit, the file offset for a log line,
    boot id and sequence number for a kernel message (PROTOCOL section 1).
    """
    return EventId(derive("observation", kind, task, generation, rank, natural))


def episode_id(kind: str, subject: str, generation: int, *, episode: int) -> EventId:
    """Return the id of a stall or a silence: stall, recover, stall again are episodes 1 and 2."""
    return EventId(derive("episode", kind, subject, generation, episode))


def consequence_id(kind: str, cause: EventId, *, subject: str = "", attempt: int = 0) -> EventId:
    """Return the id of a fact or decision that follows from the message ``cause``."""
    return EventId(derive("consequence", kind, cause, subject, attempt))


def incident_id(owner: JobUid | NodeName, fault: EventId) -> IncidentId:
    """Return the id of the incident that ``fault`` opened for a job, or for a node where no job is hurt."""
    return IncidentId(derive("incident", owner, fault))


def task_uid(job: JobUid, task: str, incarnation: int) -> TaskUid:
    """Return the uid of the nth incarnation (1, 2, ...) of a task, so that a repeated creation is the same task."""
    return TaskUid(derive("task", job, task, incarnation))


def subject_token(key: str) -> str:
    """Return ``key`` as one subject token: letters, digits and ``-`` stay, other bytes become ``_`` and two hex digits.

    The mapping is one to one: ``_`` itself is escaped. Raises ValueError for an empty key.
    """
    if not key:
        raise ValueError("a subject key must not be empty")
    return _ODD.sub(_escaped, key)


def _escaped(odd: re.Match[str]) -> str:
    return "".join(f"_{byte:02x}" for byte in odd[0].encode())


def key_of(token: str) -> str:
    """Return the key whose subject token this is: the inverse of ``subject_token``.

    Raises ValueError for a token that is nobody's: whoever may publish may name a subject as he likes.
    """
    head, *escaped = token.split("_")
    raw = bytearray(head.encode())
    for part in escaped:
        if len(part) < 2:
            raise ValueError(f"subject token {token!r} ends in the middle of an escape")
        raw += bytes.fromhex(part[:2]) + part[2:].encode()
    return raw.decode()
