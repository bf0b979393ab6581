"""One AdmissionReview and its answer: patch, refusal, or leave alone."""

import base64
import json
from typing import Any

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.admission.webhook import configuration
from keepstep.contracts.taxonomy import Level
from keepstep.injection.ours import Ours
from keepstep.injection.requirements import Component, Pool
from keepstep.injection.review import review
from tests.injection.manifests import injected, manifest
from tests.kube.server.patches import json_patched

OURS = Ours(image="registry.example/keepstep:1")
ANY_POOL = Pool()


def asked(job: dict[str, Any], operation: str = "CREATE") -> dict[str, Any]:
    request = {"uid": "u-1", "operation": operation, "object": job, "namespace": "default"}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def answer(job: dict[str, Any], *, pool: Pool = ANY_POOL, operation: str = "CREATE") -> Any:
    found: Any = review(asked(job, operation), ours=OURS, pool=pool)
    assert (found["kind"], found["response"]["uid"]) == ("AdmissionReview", "u-1")
    return found["response"]


@pytest.mark.parametrize("kind", [kind for kind in JobKind if kind is not JobKind.TRAINJOB])
def test_the_patch_makes_what_job_inject_prints(kind: JobKind) -> None:
    job = manifest(kind)
    found = answer(job)
    assert (found["allowed"], found["patchType"]) == (True, "JSONPatch")
    patched = json_patched(job, json.loads(base64.b64decode(found["patch"])))
    assert patched == injected(job, ours=OURS).job


def test_people_are_warned_of_levels_that_the_job_will_not_have() -> None:
    warnings = answer(manifest(JobKind.PYTORCHJOB))["warnings"]
    assert any(line.startswith("keepstep: no level pod: PyTorchJob") for line in warnings)
    assert all(len(line) <= 250 for line in warnings)


def test_a_long_warning_goes_on_in_the_next_to_its_remedy() -> None:
    """The server cuts a warning at 256 characters, and the remedy stands at its end."""
    job = manifest(JobKind.JOB, command=("/opt/train",))
    refused = injected(job, ours=OURS).support.refusal(Level.POD)
    assert refused is not None
    warnings = answer(job)["warnings"]
    assert all(len(line) <= 250 for line in warnings)
    assert refused.remedy in " ".join(line.removeprefix("keepstep: ") for line in warnings)


def test_a_job_that_is_injected_already_is_left_as_it_is() -> None:
    found = answer(json.loads(json.dumps(injected(manifest(JobKind.JOB), ours=OURS).job)))
    assert found["allowed"] is True
    assert "patch" not in found


def test_a_refusal_names_every_field_and_remedy() -> None:
    job = manifest(JobKind.JOB, restart="OnFailure", command=())
    found = answer(job, pool=Pool(isolation=False))
    assert found["allowed"] is False
    assert found["status"]["code"] == 403
    for part in ("pool: faulty nodes are not", "containers[0].command: ", "restartPolicy: OnFailure", "set Never"):
        assert part in found["status"]["message"]


@pytest.mark.parametrize(("version", "allowed"), [("1.6.10", True), ("1.6.9", False), (None, False)])
def test_an_older_operator_refuses_the_job(version: str | None, allowed: bool) -> None:
    pool = Pool(components=(Component("kube-system/operator", "1.6.10", version),))
    assert answer(manifest(JobKind.JOB), pool=pool)["allowed"] is allowed


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
def test_later_changes_of_a_job_are_none_of_its_business(operation: str) -> None:
    found = answer(manifest(JobKind.JOB, restart="OnFailure"), operation=operation)
    assert found == {"uid": "u-1", "allowed": True}


def test_a_trainjob_is_told_to_bring_a_runtime_of_its_own() -> None:
    message = answer(manifest(JobKind.TRAINJOB))["status"]["message"]
    assert "keepstep job inject -f" in message
    own = json.loads(json.dumps(injected(manifest(JobKind.TRAINJOB)).job))
    assert answer(own) == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize("text", [{}, {"apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "u"}}])
def test_what_is_no_review_of_this_version_is_refused(text: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no AdmissionReview of admission\.k8s\.io/v1"):
        review(text, ours=OURS, pool=Pool())


def test_only_labelled_jobs_are_sent_and_an_absent_service_stops_nobody() -> None:
    made: Any = configuration(b"PEM")
    (hook,) = made["webhooks"]
    assert (hook["failurePolicy"], hook["sideEffects"]) == ("Ignore", "None")
    assert hook["objectSelector"] == {"matchLabels": {"keepstep.io/inject": "true"}}
    assert {rule["resources"][0] for rule in hook["rules"]} == {"jobs", "pytorchjobs", "trainjobs", "jobsets"}
    assert len(hook["rules"]) == len(JobKind)
