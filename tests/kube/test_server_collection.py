"""What goes with a deleted object, at each propagation policy, over HTTP."""

from tests.kube.rig import PODS, Rig, until
from tests.kube.server import kinds
from tests.kube.server.objects import Obj
from tests.kube.server.store import Store

JOBS = "/apis/batch/v1/namespaces/default/jobs"


async def test_a_job_deleted_without_a_policy_orphans_its_pods_and_warns(rig: Rig) -> None:
    job = make_job(rig.store)
    own(rig, "p", job)
    reply = await rig.http.delete(f"{JOBS}/j")
    assert "child pods are preserved by default" in reply.headers["warning"]
    await gone(rig.store, kinds.JOB, "j")
    assert "ownerReferences" not in rig.store.get(kinds.POD, "p", "default")["metadata"]


async def test_a_background_delete_takes_the_dependents_after_the_owner(rig: Rig) -> None:
    own(rig, "p", make_job(rig.store))
    reply = await rig.http.request("DELETE", f"{JOBS}/j", json={"propagationPolicy": "Background"})
    assert reply.json()["status"] == "Success"
    await gone(rig.store, kinds.POD, "p")


async def test_a_foreground_delete_waits_for_the_dependents_that_block(rig: Rig) -> None:
    own(rig, "p", make_job(rig.store))
    rig.store.patch(kinds.POD, "p", {"metadata": {"finalizers": ["keepstep.example/hold"]}}, "default")
    reply = await rig.http.request("DELETE", f"{JOBS}/j", json={"propagationPolicy": "Foreground"})
    assert reply.json()["metadata"]["finalizers"] == ["foregroundDeletion"]
    await until(lambda: "deletionTimestamp" in rig.store.get(kinds.POD, "p", "default")["metadata"])
    assert rig.store.find(kinds.JOB, "j", "default") is not None
    body = {"metadata": {"finalizers": None}}
    await rig.http.patch(f"{PODS}/p", json=body, headers={"content-type": "application/merge-patch+json"})
    await gone(rig.store, kinds.JOB, "j")


async def test_an_object_of_an_owner_that_never_was_is_collected(rig: Rig) -> None:
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "none"}
    meta = {"name": "p", "ownerReferences": [ref]}
    await rig.http.post(PODS, json={"metadata": meta, "spec": {"containers": [{"name": "a", "image": "b"}]}})
    await gone(rig.store, kinds.POD, "p")


async def test_a_namespace_goes_with_all_that_is_in_it(rig: Rig) -> None:
    rig.store.create(kinds.NAMESPACE, {"metadata": {"name": "team"}})
    rig.store.create(kinds.CONFIG_MAP, {"metadata": {"name": "c"}}, "team")
    await rig.http.delete("/api/v1/namespaces/team")
    refused = await rig.http.post("/api/v1/namespaces/team/configmaps", json={"metadata": {"name": "d"}})
    assert refused.status_code in {403, 404}
    await gone(rig.store, kinds.NAMESPACE, "team", "")
    assert rig.store.count(kinds.CONFIG_MAP) == 0


def make_job(store: Store) -> Obj:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}}}
    return store.create(kinds.JOB, {"metadata": {"name": "j"}, "spec": spec}, "default")


def own(rig: Rig, name: str, job: Obj) -> None:
    rig.create_pod(name)
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"]}
    refs = [ref | {"controller": True, "blockOwnerDeletion": True}]
    rig.store.patch(kinds.POD, name, {"metadata": {"ownerReferences": refs}}, "default")


async def gone(store: Store, kind: kinds.Kind, name: str, namespace: str = "default") -> None:
    await until(lambda: store.find(kind, name, namespace) is None)
