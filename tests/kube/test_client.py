"""Writes hit the object that was meant, lose no other's change, and all of them are told to the audit."""

from datetime import timedelta
from itertools import count

import orjson
import pytest

from keepstep.adapters.kube_errors import Blocked, Busy, Expired, Missing, Refused, Replaced, Unsent, refusal
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, reference
from keepstep.adapters.kube_paths import path_of
from keepstep.adapters.kube_resources import PODS
from keepstep.adapters.kube_trainjob import TrainView, keep_off
from keepstep.adapters.kube_volcano import command_of
from keepstep.ports.errors import Conflict, KeepstepError, Permanent
from tests.kube.api import Api
from tests.kube.gate import Passing
from tests.kube.jobs import view
from tests.kube.objects import merged, stripped
from tests.kube.server import errors, kinds

pytestmark = pytest.mark.any_api

BUDGET = {"details": {"causes": [{"reason": "DisruptionBudget", "message": "needs 4 healthy pods and has 4"}]}}


def labelled(name: str) -> JsonObject:
    return {"metadata": {"labels": {name: "yes"}}}


async def test_an_edit_merges_under_the_version_it_read(there: Api) -> None:
    ref = reference(await there.pod("a"))
    edited = await there.client.edit(ref, lambda _: labelled("x"), why="for a test")
    assert text(edited, "metadata", "labels", "x") == "yes"
    assert [(write.verb, write.path, write.why, write.refused) for write in there.writes] == [
        ("PATCH", path_of(ref), "for a test", "")
    ]


async def test_an_edit_that_lost_a_race_looks_again_and_keeps_the_others_change(there: Api) -> None:
    ref = reference(await there.pod("a"))
    seen: list[bool] = []

    def change(found: JsonObject) -> JsonObject:
        seen.append(text(found, "metadata", "labels", "theirs") == "yes")
        return labelled("ours")

    async def others(passing: Passing) -> None:
        if passing.method == "PATCH" and len(seen) == 1:
            await there.admin.patch(kinds.POD, "a", dict(labelled("theirs")), there.namespace)

    there.gate.before = others
    edited = await there.client.edit(ref, change, why="race")
    assert seen == [False, True]
    assert text(edited, "metadata", "labels", "theirs") == text(edited, "metadata", "labels", "ours") == "yes"
    assert [bool(write.refused) for write in there.writes] == [True, False]


async def test_an_edit_that_always_loses_gives_up_for_now(there: Api) -> None:
    ref = reference(await there.pod("a"))
    lost = count()

    async def others(passing: Passing) -> None:
        if passing.method == "PATCH":
            await there.admin.patch(kinds.POD, "a", dict(labelled(f"n{next(lost)}")), there.namespace)

    there.gate.before = others
    with pytest.raises(Conflict):
        await there.client.edit(ref, lambda _: labelled("ours"), why="race")
    assert next(lost) == 5


async def test_an_edit_never_hits_an_object_made_anew_under_the_name(there: Api) -> None:
    old = reference(await there.pod("a"))
    await there.admin.delete(kinds.POD, "a", there.namespace)
    anew = await there.pod("a")
    with pytest.raises(Replaced, match="made anew"):
        await there.client.edit(old, lambda _: labelled("x"), why="late")
    with pytest.raises(Replaced, match="UID in the precondition"):
        await there.client.delete(old, why="late")
    (left,) = await there.admin.items(kinds.POD, there.namespace)
    assert left["metadata"]["uid"] == anew["metadata"]["uid"]


async def test_a_change_that_is_none_writes_nothing(there: Api) -> None:
    ref = reference(await there.pod("a"))
    await there.client.edit(ref, lambda _: None, why="nothing to do")
    assert there.writes == []


async def test_a_volcano_command_is_created_under_a_generated_name(there: Api) -> None:
    job = reference(await there.create(kinds.VOLCANO_JOB, stripped("volcano-running", there.namespace)))
    made = await there.client.create(there.namespace, command_of(job, "RestartJob"), why="restart")
    assert text(made, "metadata", "name").startswith("j-restartjob-")
    assert text(made, "target", "uid") == job.uid


async def test_our_entry_in_runtime_patches_leaves_those_of_others(there: Api) -> None:
    """Trace trainjob/d-ssa-own-manager."""
    suspended = merged(stripped("trainjob-suspended", there.namespace), {"spec": {"suspend": True}})
    made = await there.create(kinds.TRAIN_JOB, suspended)
    job = view(JobKind.TRAINJOB, metadata={"namespace": there.namespace})
    assert isinstance(job, TrainView)
    applied = await there.client.apply(reference(made), keep_off(job), why="keep off n1")
    managers = {text(one, "manager") for one in applied["spec"]["runtimePatches"]}  # type: ignore[index]  # a manifest; its spec is a table
    assert managers == {"example.org/placement", "keepstep.io/keepstep"}


async def test_a_silent_server_and_a_throttling_one_are_tried_again(there: Api) -> None:
    ref = reference(await there.pod("a"))
    there.gate.refuse = lambda _: errors.throttled(4)
    with pytest.raises(Busy) as throttled:
        await there.client.delete(ref, why="x")
    assert throttled.value.retry_after == timedelta(seconds=4)
    await there.down()
    with pytest.raises(Unsent, match="no connection"):
        await there.client.delete(ref, why="x")
    assert [bool(write.refused) for write in there.writes] == [True, True]


def test_a_server_that_says_an_hour_is_tried_again_after_a_minute() -> None:
    found = refusal("delete of pod a", 429, b"", {"retry-after": "3600"})
    assert isinstance(found, Busy)
    assert found.retry_after == timedelta(seconds=60)


async def test_an_eviction_against_a_budget_is_blocked(there: Api) -> None:
    if not await there.admin.serves(kinds.PDB):
        pytest.skip("this API server has no eviction of policy/v1")
    labels = {"app": "a"}
    made = await there.pod("a", metadata={"name": "a", "labels": labels})
    budget = {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}
    await there.create(kinds.PDB, budget)
    await there.runs("a")
    with pytest.raises(Blocked):
        await there.client.evict(reference(made), why="drain")


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (400, {"reason": "", "message": 'admission webhook "validatejob.volcano.sh" denied the request'}, Refused),
        (401, {"reason": "Unauthorized"}, Busy),
        (403, {"reason": "Forbidden", "message": "nodes is forbidden"}, Refused),
        (404, {"reason": "NotFound"}, Missing),
        (409, {"reason": "Conflict", "message": "the object has been modified"}, Conflict),
        (409, {"reason": "Conflict", "message": "the UID in the precondition (a) does not match"}, Replaced),
        (
            409,
            {"reason": "Conflict", "message": "Precondition failed: UID in precondition: a, UID in object meta: b"},
            Replaced,
        ),
        (409, {"reason": "AlreadyExists"}, Refused),
        (410, {"reason": "Expired"}, Expired),
        (422, {"reason": "Invalid"}, Refused),
        (429, {"reason": "TooManyRequests", **BUDGET}, Blocked),
        (429, {"reason": "TooManyRequests", "message": "Too many requests"}, Unsent),
        (500, {"reason": "InternalError"}, Busy),
        (504, {"reason": "Timeout"}, Busy),
    ],
)
def test_what_a_refusal_means(code: int, status: dict[str, object], kind: type[KeepstepError]) -> None:
    error = refusal("PATCH x", code, orjson.dumps(status), {})
    assert type(error) is kind
    assert str(error).startswith("PATCH x: ")


def test_a_refusal_by_rbac_names_the_doctor_and_one_by_a_webhook_does_not() -> None:
    rbac = refusal("PATCH x", 403, b'{"message": "nodes is forbidden"}', {})
    webhook = refusal("PATCH x", 403, b'{"message": "admission webhook \\"v\\" denied the request"}', {})
    assert "keepstep doctor" in str(rbac)
    assert "keepstep doctor" not in str(webhook)


def test_a_kind_that_keepstep_does_not_know_has_no_path() -> None:
    with pytest.raises(Permanent, match="none of the kinds"):
        path_of(ObjectRef("apps/v1", "Deployment", "ns", "web", ObjectUid("u")))


async def test_a_page_of_metadata_holds_nothing_else(there: Api) -> None:
    made = await there.pod("a")
    whole = await there.client.page(PODS, {}, namespace=there.namespace)
    page = await there.client.page(PODS, {}, namespace=there.namespace, only_metadata=True)
    (found,) = [one for one in rows(page, "items") if text(one, "metadata", "name") == text(made, "metadata", "name")]
    assert text(found, "metadata", "uid") == text(made, "metadata", "uid")
    assert "spec" not in found
    assert "status" not in found
    assert all("spec" in one for one in rows(whole, "items"))
