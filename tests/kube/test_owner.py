"""Whose a pod is, on objects of the real controllers."""

from typing import Any

import pytest

from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, OwnerRef, controller, reference
from keepstep.adapters.kube_owner import JobKind, Nobodys, Owned, Top, Unseen, top_owner
from tests.kube.objects import changed, sample


def owned(source: dict[str, Any]) -> dict[ObjectUid, Owned]:
    ref = reference(source)
    return {ref.uid: Owned(ref, controller(source))}


def child(of: dict[str, Any], **patch: Any) -> dict[str, Any]:
    """Return a batch Job that an object controls."""
    ref = reference(of)
    owner = {"apiVersion": ref.api, "kind": ref.kind, "name": ref.name, "uid": ref.uid, "controller": True}
    return changed("job-running", metadata={"ownerReferences": [owner], **patch})


@pytest.mark.parametrize(
    ("job", "kind"),
    [
        ("volcano-running", JobKind.VOLCANO),
        ("pytorchjob-running", JobKind.PYTORCHJOB),
        ("job-running", JobKind.JOB),
    ],
)
def test_a_pod_belongs_to_the_job_that_controls_it(job: str, kind: JobKind) -> None:
    source = sample(job)
    ref = reference(source)
    owner = OwnerRef(ref.api, ref.kind, ref.name, ref.uid)
    assert top_owner(owner, owned(source)) == Top(kind, ref)


def test_a_pod_of_a_train_job_is_found_through_job_and_job_set() -> None:
    train, jobset = sample("trainjob-running"), sample("trainjob-jobset-running")
    pod = sample("trainjob-pod-running")
    job = child(jobset, name="j-node-0", uid="68852089-dc9d-4911-b004-43e8d0f01821")
    seen = {**owned(train), **owned(jobset), **owned(job)}
    assert top_owner(controller(pod), seen) == Top(JobKind.TRAINJOB, reference(train))


def test_the_jobs_of_volcano_and_of_batch_are_told_apart_by_group() -> None:
    assert sample("volcano-running")["kind"] == sample("job-running")["kind"] == "Job"
    assert top_owner(controller(sample("volcano-pod-running")), owned(sample("volcano-running"))) == Top(
        JobKind.VOLCANO, reference(sample("volcano-running"))
    )


def test_a_job_made_anew_under_the_same_name_does_not_own_the_old_pods() -> None:
    anew = changed("volcano-running", metadata={"uid": "another"})
    owner = controller(sample("volcano-pod-running"))
    assert owner is not None
    assert top_owner(owner, owned(anew)) == Unseen(owner)


def test_an_owner_that_is_not_seen_yet_is_said_and_not_guessed() -> None:
    pod = sample("trainjob-pod-running")
    job = child(sample("trainjob-jobset-running"), uid="68852089-dc9d-4911-b004-43e8d0f01821")
    answer = top_owner(controller(pod), owned(job))
    assert isinstance(answer, Unseen)
    assert answer.owner.kind == "JobSet"


def test_a_cron_job_above_is_not_what_gets_restarted() -> None:
    cron = ObjectRef("batch/v1", "CronJob", "ns", "nightly", ObjectUid("c"))
    job = changed(
        "job-running",
        metadata={
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "c", "controller": True}
            ]
        },
    )
    owner = OwnerRef("batch/v1", "Job", "j", reference(job).uid)
    seen = {**owned(job), cron.uid: Owned(cron)}
    assert top_owner(owner, seen) == Top(JobKind.JOB, reference(job))


@pytest.mark.parametrize(("api", "kind"), [("apps/v1", "ReplicaSet"), ("apps/v1", "DaemonSet"), ("batch.x/v1", "Job")])
def test_a_pod_of_another_controller_is_nobodys(api: str, kind: str) -> None:
    assert top_owner(OwnerRef(api, kind, "web", ObjectUid("u")), {}) == Nobodys()


def test_a_bare_pod_is_nobodys() -> None:
    assert top_owner(None, {}) == Nobodys()


def test_owners_in_a_ring_end_the_walk() -> None:
    one = OwnerRef("batch/v1", "Job", "one", ObjectUid("1"))
    two = OwnerRef("batch/v1", "Job", "two", ObjectUid("2"))
    refs = {o.uid: ObjectRef(o.api, o.kind, "ns", o.name, o.uid) for o in (one, two)}
    seen = {one.uid: Owned(refs[one.uid], two), two.uid: Owned(refs[two.uid], one)}
    assert top_owner(one, seen) == Top(JobKind.JOB, refs[two.uid])


def test_an_owner_that_does_not_control_is_no_owner() -> None:
    source = changed("job-pod-running")
    source["metadata"]["ownerReferences"][0]["controller"] = False
    assert controller(source) is None
