"""Whose a pod is, on objects of the real controllers: up the controller references, by uid, to the topmost job."""

from typing import Any

import pytest

from keepstep.adapters.kube_families import Families
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_job_object import JobObject, job_object
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_objects import ObjectUid, controller, reference
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.adapters.kube_shelf import Change, How
from tests.kube.objects import changed, merged, sample

JOB_OF_THE_TRAINING = "68852089-dc9d-4911-b004-43e8d0f01821"
"""The uid that the recorded pod of a TrainJob names as its maker's."""


def controlled(by: dict[str, Any]) -> dict[str, Any]:
    """Return metadata that say that an object controls this one."""
    ref = reference(by)
    owner = {"apiVersion": ref.api, "kind": ref.kind, "name": ref.name, "uid": ref.uid, "controller": True}
    return {"ownerReferences": [owner]}


def child(of: dict[str, Any], **patch: Any) -> dict[str, Any]:
    """Return a batch Job that an object controls."""
    return changed("job-running", metadata={**controlled(of), **patch})


def a_pod(of: dict[str, Any]) -> Pod:
    """Return a pod that an object controls."""
    return pod_of(merged(sample("job-pod-running"), {"metadata": controlled(of)}))


def shown(kind: JobKind, source: dict[str, Any]) -> JobObject:
    return job_object(KINDS[kind])(source)


def seen(*jobs: tuple[JobKind, dict[str, Any]]) -> Families:
    """Return the families of a cluster that shows these job objects."""
    families = Families()
    for kind, source in jobs:
        families.job_changed(Change(How.ADDED, shown(kind, source)))
    return families


@pytest.mark.parametrize(
    ("job", "kind"),
    [
        ("volcano-running", JobKind.VOLCANO),
        ("pytorchjob-running", JobKind.PYTORCHJOB),
        ("job-running", JobKind.JOB),
    ],
)
def test_a_pod_belongs_to_the_job_that_controls_it(job: str, kind: JobKind) -> None:
    families, source = seen((kind, sample(job))), sample(job)
    top = families.top_over(a_pod(source))
    assert top is not None
    assert (families.kind(top).name, top.ref) == (kind, reference(source))


def test_a_pod_of_a_train_job_is_found_through_job_and_job_set() -> None:
    train, jobset = sample("trainjob-running"), sample("trainjob-jobset-running")
    job = child(jobset, name="j-node-0", uid=JOB_OF_THE_TRAINING)
    families = seen((JobKind.TRAINJOB, train), (JobKind.JOBSET, jobset), (JobKind.JOB, job))
    assert families.top_over(pod_of(sample("trainjob-pod-running"))) == shown(JobKind.TRAINJOB, train)


def test_the_jobs_of_volcano_and_of_batch_are_told_apart_by_group() -> None:
    assert sample("volcano-running")["kind"] == sample("job-running")["kind"] == "Job"
    families = seen((JobKind.VOLCANO, sample("volcano-running")), (JobKind.JOB, sample("job-running")))
    top = families.top_over(pod_of(sample("volcano-pod-running")))
    assert top is not None
    assert families.kind(top).name is JobKind.VOLCANO


def test_a_job_made_anew_under_the_same_name_does_not_own_the_old_pods() -> None:
    families = seen((JobKind.VOLCANO, changed("volcano-running", metadata={"uid": "another"})))
    assert families.top_over(pod_of(sample("volcano-pod-running"))) is None


def test_a_pod_below_what_is_not_seen_yet_may_be_of_any_job() -> None:
    job = child(sample("trainjob-jobset-running"), uid=JOB_OF_THE_TRAINING)
    assert seen().may_be_of(ObjectUid("any"), pod_of(sample("trainjob-pod-running")))
    families = seen((JobKind.JOB, job))
    assert [one.kind for one in families.missing()] == ["JobSet"]


def test_a_cron_job_above_is_not_what_gets_restarted() -> None:
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "uid": "c"}}
    job = child(cron)
    families = seen((JobKind.JOB, job))
    top = families.top_over(a_pod(job))
    assert top is not None
    assert (top.ref, families.is_top(top)) == (reference(job), True)


@pytest.mark.parametrize(("api", "kind"), [("apps/v1", "ReplicaSet"), ("apps/v1", "DaemonSet"), ("batch.x/v1", "Job")])
def test_a_pod_of_another_controller_is_nobodys(api: str, kind: str) -> None:
    web = {"apiVersion": api, "kind": kind, "metadata": {"name": "web", "uid": "u"}}
    assert seen().top_over(a_pod(web)) is None
    assert not seen().may_be_of(ObjectUid("u"), a_pod(web))


def test_a_bare_pod_is_nobodys() -> None:
    bare = pod_of(changed("job-pod-running", metadata={"ownerReferences": []}))
    assert seen().top_over(bare) is None
    assert not seen().may_be_of(ObjectUid("u"), bare)


def test_owners_in_a_ring_end_the_walk() -> None:
    """Whoever may write jobs may write such references: nobody who walks them may walk for ever."""
    one, two = changed("job-running", metadata={"uid": "1"}), changed("job-running", metadata={"uid": "2"})
    families = seen((JobKind.JOB, merged(one, {"metadata": controlled(two)})), (JobKind.JOB, child(one, uid="2")))
    pod = a_pod(two)
    families.pod_changed(Change(How.ADDED, pod))
    top = families.top_over(pod)
    assert top is not None
    assert families.pods(top.uid) == (pod,)


def test_an_owner_that_does_not_control_is_no_owner() -> None:
    source = changed("job-pod-running")
    source["metadata"]["ownerReferences"][0]["controller"] = False
    assert controller(source) is None
