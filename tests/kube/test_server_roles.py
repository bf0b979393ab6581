"""The HTTP face's roles: who may do what, where, and may ask."""

import pytest

from tests.kube.rig import PODS, rig_of
from tests.kube.server import kinds
from tests.kube.server.objects import Obj
from tests.kube.server.store import Store


def grant(store: Store, account: str, rules: list[Obj], *, namespace: str = "") -> None:
    head = {"metadata": {"name": account}}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "keepstep"}
    role, binding = (kinds.ROLE, kinds.ROLE_BINDING) if namespace else (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING)
    store.create(role, {**head, "rules": rules}, namespace)
    body = {"roleRef": {"kind": role.kind, "name": account}, "subjects": [subject]}
    store.create(binding, {**head, **body}, namespace)


async def test_a_service_account_may_do_what_its_role_says_and_no_more(store: Store) -> None:
    async with rig_of(store, rbac=True) as rig:
        grant(store, "isolator", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]}])
        store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {}})
        rig.http.headers["authorization"] = f"Bearer {rig.app.access.token('keepstep', 'isolator')}"
        assert (await rig.http.get("/api/v1/nodes/n")).status_code == 200
        refused = await rig.http.delete("/api/v1/nodes/n")
        pods = await rig.http.get(PODS)
    user = 'User "system:serviceaccount:keepstep:isolator" cannot'
    told = f'nodes "n" is forbidden: {user} delete resource "nodes" in API group "" at the cluster scope'
    assert (refused.status_code, refused.json()["message"]) == (403, told)
    told = f'pods is forbidden: {user} list resource "pods" in API group "" in the namespace "default"'
    assert pods.json()["message"] == told
    assert pods.json()["details"] == {"kind": "pods"}


async def test_a_role_holds_in_its_namespace_alone_and_subresources_are_apart(store: Store) -> None:
    async with rig_of(store, rbac=True) as rig:
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"], "resourceNames": ["a"]}]
        grant(store, "adapter", rules, namespace="default")
        rig.create_pod("a")
        rig.create_pod("b")
        rig.http.headers["authorization"] = f"Bearer {rig.app.access.token('keepstep', 'adapter')}"
        codes = [(await rig.http.get(path)).status_code for path in (f"{PODS}/a", f"{PODS}/b", "/api/v1/pods")]
        evicted = await rig.http.post(f"{PODS}/a/eviction", json={"metadata": {"name": "a"}})
    assert codes == [200, 403, 403]
    assert evicted.status_code == 403
    assert 'cannot create resource "pods/eviction"' in evicted.json()["message"]


async def test_a_role_of_one_namespace_lists_no_other(store: Store) -> None:
    async with rig_of(store, rbac=True) as rig:
        grant(store, "reader", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}], namespace="default")
        rig.http.headers["authorization"] = f"Bearer {rig.app.access.token('keepstep', 'reader')}"
        codes = [(await rig.http.get(path)).status_code for path in (PODS, "/api/v1/pods")]
    assert codes == [200, 403]


async def test_an_unknown_token_is_unauthorized(store: Store) -> None:
    async with rig_of(store, rbac=True) as rig:
        reply = await rig.http.get(PODS, headers={"authorization": "Bearer none"})
        anonymous = await rig.http.get(PODS)
    assert (reply.status_code, reply.json()["reason"]) == (401, "Unauthorized")
    assert 'User "system:anonymous" cannot' in anonymous.json()["message"]


@pytest.mark.parametrize(("verb", "allowed"), [("patch", True), ("delete", False)])
async def test_one_may_ask_what_one_may_do(store: Store, verb: str, *, allowed: bool) -> None:
    async with rig_of(store, rbac=True) as rig:
        grant(store, "isolator", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}])
        rig.http.headers["authorization"] = f"Bearer {rig.app.access.token('keepstep', 'isolator')}"
        body = {"spec": {"resourceAttributes": {"verb": verb, "resource": "nodes"}}}
        reply = await rig.http.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=body)
    assert reply.status_code == 201
    assert reply.json()["status"] == {"allowed": allowed}
