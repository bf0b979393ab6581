"""Decides on one AdmissionReview: the patch that injects keepstep, or every objection in one message."""

import base64
import json
from collections.abc import Sequence
from textwrap import wrap

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, table, text
from keepstep.contracts.taxonomy import Level
from keepstep.injection.inject import Injected, inject, kind_of
from keepstep.injection.objection import Objection
from keepstep.injection.ours import Ours
from keepstep.injection.requirements import Pool, unmet
from keepstep.injection.runtimes import has_own, runtime_only
from keepstep.injection.shapes import SHAPES

API = "admission.k8s.io/v1"
WARNING_CHARACTERS = 250
"""The server may cut longer ones, so they go on in the next; of all together it keeps 4096.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response"""
PREFIX = "keepstep: "
TOLD = (Level.IN_PLACE, Level.POD, Level.JOB)


def review(asked: JsonObject, *, ours: Ours, pool: Pool) -> JsonObject:
    """Return the answer to an AdmissionReview; raises ValueError for what is none.

    Only the creation of a job is decided on: later changes of one are its author's, or keepstep's own.
    """
    request = table(asked, "request")
    uid = text(request, "uid")
    if not uid or text(asked, "apiVersion") != API:
        raise ValueError(f"this is no AdmissionReview of {API}")
    response: JsonObject = {"uid": uid, "allowed": True}
    if text(request, "operation") == "CREATE":
        response = {"uid": uid, **_decided(table(request, "object"), ours, pool)}
    return {"apiVersion": API, "kind": "AdmissionReview", "response": response}


def _decided(job: JsonObject, ours: Ours, pool: Pool) -> JsonObject:
    wrong = list(unmet(pool))
    kind = kind_of(job)
    if isinstance(kind, JobKind) and SHAPES[kind].by_runtime:
        wrong += () if has_own(job) else runtime_only(job)
        return _refused(wrong) if wrong else {"allowed": True}
    done = inject(job, ours)
    if not isinstance(done, Injected):
        return _refused([*wrong, *done])
    if wrong:
        return _refused(wrong)
    answer: JsonObject = {"allowed": True, "warnings": _warnings(done)}
    if done.job == job:
        return answer
    patch = base64.b64encode(json.dumps(_patch(done.job)).encode()).decode()
    return {**answer, "patchType": "JSONPatch", "patch": patch}


def _refused(wrong: Sequence[Objection]) -> JsonObject:
    message = " | ".join(map(str, wrong))
    return {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": message}}


def _patch(job: JsonObject) -> list[JsonObject]:
    """Return the parts that injection changes, whole: ``add`` replaces what is there."""
    metadata = table(job, "metadata")
    return [
        {"op": "add", "path": "/metadata/labels", "value": metadata["labels"]},
        {"op": "add", "path": "/metadata/annotations", "value": metadata["annotations"]},
        {"op": "add", "path": "/spec", "value": table(job, "spec")},
    ]


def _warnings(done: Injected) -> list[str]:
    """Return what people see when they apply the job: what was done, and the levels that it will not have."""
    lines = list(done.notes)
    for level in TOLD:
        refused = done.support.refusal(level)
        if refused is not None:
            lines.append(f"no level {level}: {refused.because}; {refused.remedy}")
    room = WARNING_CHARACTERS - len(PREFIX)
    return [PREFIX + part for line in lines for part in wrap(line, room, break_on_hyphens=False)]
