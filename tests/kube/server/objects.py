"""Plain JSON objects: how they are copied, how their times are written, where their lists are."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

Obj = dict[str, Any]
"""A Kubernetes object. What it holds is the user's affair, hence Any: the server's own checks are the only types."""


def copied(obj: Obj) -> Obj:
    """Return a copy that shares nothing with ``obj``."""
    answer: Obj = orjson.loads(orjson.dumps(obj))
    return answer


def instant(at: datetime) -> str:
    """Write an instant as metav1.Time does: UTC, whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_instant(at: datetime) -> str:
    """Write an instant as metav1.MicroTime does (leases)."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_instant(text: str) -> datetime:
    """Read either form. Raises ValueError for anything else."""
    return datetime.fromisoformat(text)


def labels_of(obj: Obj) -> dict[str, str]:
    """Return the labels, none if absent."""
    labels: dict[str, str] = obj["metadata"].get("labels") or {}
    return labels


def controller_of(obj: Obj) -> Obj | None:
    """Return the owner reference that controls the object."""
    return next((ref for ref in owners_of(obj) if ref.get("controller")), None)


def owners_of(obj: Obj) -> Iterator[Obj]:
    """Yield the owner references."""
    yield from obj["metadata"].get("ownerReferences") or ()
