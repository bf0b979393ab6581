"""The record of a job's closed incidents, in a ConfigMap beside it: pure. Bounded, with the true total."""

import json
from collections.abc import Mapping

from keepstep.adapters.kube_event import LONGEST_NAME, time_of
from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.contracts.ids import derive
from keepstep.core.json_text import parsed
from keepstep.ports.errors import Permanent
from keepstep.ports.sink import About, Notice

RECORDS = 10
LONGEST_CAUSE = 1000
"""Characters that are kept of what an incident came of."""


def record_of(notice: Notice, about: About) -> dict[str, str]:
    """Return what is kept of a closed incident."""
    known = {name.replace(" ", "_"): value for name, value in notice.facts}
    return {"notice": notice.id, "incident": about.incident or "", "at": time_of(about.at), **known} | {
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
        known = parsed(text(found, "data", "incidents") or "[]")
    except json.JSONDecodeError:
        return []
    return list(rows({"known": known}, "known"))
