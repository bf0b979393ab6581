"""A notice as an Event of the core API: pure.

Core and not events.k8s.io: both are stored as one, and ``kubectl describe`` of every version reads this form whole. The
same reason and message on one object is one Event that counts; the notices it counted stand on it, so that a delivery
that is repeated counts once.
"""

from datetime import UTC, datetime

from keepstep.adapters.kube_json import JsonObject, number, text
from keepstep.adapters.kube_objects import MARK_PREFIX, ObjectRef
from keepstep.contracts.ids import derive
from keepstep.contracts.taxonomy import Severity
from keepstep.ports.sink import About, Notice

NOTICES = f"{MARK_PREFIX}notices"
INCIDENT = f"{MARK_PREFIX}incident"
LONGEST = 1024
"""Characters of a message that the API takes."""
LONGEST_NAME = 220
"""Of the object's name in the Event's: with a point and 16 digits below the 253 of a name."""
COUNTED = 16
"""Notices that an Event remembers: a delivery is repeated at once or never."""
SIMILAR = "(combined from similar events): "
"""What kubectl's users know from client-go, which combines them the same way."""
NODES_NAMESPACE = "default"
"""Where Events of objects without a namespace live, and kubectl describe node looks for them."""


def event_of(ref: ObjectRef, notice: Notice, about: About, *, crowded: bool) -> JsonObject:
    """Return the Event to create; its name is the same for what is to be one. ``crowded``: the object has many."""
    message = (SIMILAR if crowded else "") + notice.text
    same = derive(ref.uid, about.reason, "" if crowded else notice.text)
    at = time_of(about.at)
    service = str(about.service)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{ref.name[:LONGEST_NAME].rstrip('.-')}.{same[:16]}",
            "namespace": ref.namespace or NODES_NAMESPACE,
            "annotations": {NOTICES: notice.id, **({INCIDENT: about.incident} if about.incident else {})},
        },
        "involvedObject": {
            "apiVersion": ref.api,
            "kind": ref.kind,
            "name": ref.name,
            "uid": ref.uid,
            **({"namespace": ref.namespace} if ref.namespace else {}),
        },
        "reason": about.reason,
        "message": message[:LONGEST],
        "type": "Normal" if notice.severity is Severity.INFO else "Warning",
        "count": 1,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": {"component": f"keepstep-{service}"},
        "reportingComponent": f"keepstep.io/{service}",
        "reportingInstance": "keepstep-notifier",
    }


def counted(found: JsonObject, event: JsonObject) -> JsonObject | None:
    """Return the patch that counts one more of what ``found`` tells, or None for a notice that it counted."""
    notice = text(event, "metadata", "annotations", NOTICES)
    known = [one for one in text(found, "metadata", "annotations", NOTICES).split(",") if one]
    if notice in known:
        return None
    return {
        "metadata": {"annotations": {NOTICES: ",".join([*known, notice][-COUNTED:])}},
        "count": number(found, "count", default=1) + 1,
        "message": text(event, "message"),
        "lastTimestamp": max(text(found, "lastTimestamp"), text(event, "lastTimestamp")),
    }


def time_of(at: datetime) -> str:
    """Return an instant as metav1.Time has it: UTC, whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
