"""A notice as an Event of the core API, and the record of closed incidents beside it: pure, both.

Core and not events.k8s.io: both are stored as one, and ``kubectl describe`` of every version reads this form whole. The
same reason and message on one object is one Event that counts; the notices it counted stand on it, so that a delivery
that is repeated counts once.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from keepstep.adapters.kube_json import JsonObject, number, rows, text
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_objects import MARK_PREFIX, ObjectRef
from keepstep.contracts.ids import derive
from keepstep.contracts.taxonomy import Severity
from keepstep.ports.errors import Permanent
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
RECORDS = 10
LONGEST_CAUSE = 1000
NODES_NAMESPACE = "default"
"""Where Events of objects without a namespace live, and kubectl describe node looks for them."""


def event_of(ref: ObjectRef, notice: Notice, about: About, *, crowded: bool) -> JsonObject:
    """Return the Event to create; its name is the same for what is to be one. ``crowded``: the object has many."""
    message = (SIMILAR if crowded else "") + notice.text
    same = derive(ref.uid, about.reason, "" if crowded else notice.text)
    at = _time(about.at)
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


def record_of(notice: Notice, about: About) -> dict[str, str]:
    """Return what is kept of a closed incident."""
    known = {name.replace(" ", "_"): value for name, value in notice.facts}
    return {"notice": notice.id, "incident": about.incident or "", "at": _time(about.at), **known} | {
        "because": notice.text[:LONGEST_CAUSE]
    }


def history_name(job: ObjectRef) -> str:
    """Return the name of the ConfigMap that keeps a job's closed incidents; jobs of two kinds may share theirs."""
    return f"keepstep-{job.name[:LONGEST_NAME].rstrip('.-')}-{derive(job.uid)[:8]}"


def history(ref: ObjectRef, record: Mapping[str, str]) -> JsonObject:
    """Return the ConfigMap to create for a job's first closed incident; it goes with the job."""
    owner = {"apiVersion": ref.api, "kind": ref.kind, "name": ref.name, "uid": ref.uid}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": history_name(ref),
            "namespace": ref.namespace,
            "labels": {JOB_LABEL: ref.name},
            "ownerReferences": [owner],
        },
        "data": _kept(1, [record]),
    }


def recorded(found: JsonObject, ref: ObjectRef, record: Mapping[str, str]) -> JsonObject | None:
    """Return the patch that adds the record, or None where it is there. Raises Permanent for what is not ours."""
    owners = {text(one, "uid") for one in rows(found, "metadata", "ownerReferences")}
    if text(found, "metadata", "labels", JOB_LABEL) != ref.name or ref.uid not in owners:
        raise Permanent(
            f"ConfigMap {history_name(ref)} lacks label {JOB_LABEL}={ref.name} or owner {ref.uid}, "
            "so it is another's and stays as it is; rename or remove it to have incidents kept"
        )
    total, known = _total(found), _records(found)
    if any(text(one, "notice") == record["notice"] for one in known):
        return None
    return {"data": _kept(total + 1, [*known, record])}


def _kept(total: int, records: list[Mapping[str, object]] | list[Mapping[str, str]]) -> dict[str, str]:
    kept = [dict(one) for one in records[-RECORDS:]]
    return {"total": str(total), "incidents": json.dumps(kept, ensure_ascii=False, indent=1)}


def _total(found: JsonObject) -> int:
    said = text(found, "data", "total")
    return int(said) if said.isdecimal() else 0


def _records(found: JsonObject) -> list[JsonObject]:
    """Return the records that are there; what a hand garbled is begun anew, its total goes on."""
    try:
        known = json.loads(text(found, "data", "incidents") or "[]")
    except json.JSONDecodeError:
        return []
    return list(rows({"known": known}, "known"))


def _time(at: datetime) -> str:
    """Return an instant as metav1.Time has it: UTC, whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
