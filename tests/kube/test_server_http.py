"""The HTTP face: watches and their ends, pages, roles, outages, webhooks, discovery, logs, and what GC leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
import pytest

from tests.kube.server import errors, kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.objects import Obj
from tests.kube.server.rules import RULES
from tests.kube.server.serving import Serving, serving
from tests.kube.server.store import Store

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@dataclass
class Rig:
    """A server that listens, its store and a client."""

    server: Serving
    http: httpx.AsyncClient
    store: Store
    lines: list[Obj] = field(default_factory=list)

    @property
    def app(self) -> ApiServer:
        return self.server.app

    def create_pod(self, name: str, **labels: str) -> Obj:
        spec = {"containers": [{"name": "main", "image": "train:1"}]}
        return self.store.create(kinds.POD, {"metadata": {"name": name, "labels": labels}, "spec": spec}, "default")

    def label(self, name: str, **labels: str) -> None:
        self.store.patch(kinds.POD, name, {"metadata": {"labels": labels}}, "default")

    async def watch(self, query: str, *, until: int, path: str = PODS) -> list[tuple[str, str]]:
        """Return type and name of the first lines of a watch."""
        async with self.http.stream("GET", f"{path}?watch=true&{query}") as reply:
            return await self.read(reply, until)

    @asynccontextmanager
    async def watching(self, query: str = "") -> AsyncIterator[httpx.Response]:
        before = self.app.watches.count()
        async with self.http.stream("GET", f"{PODS}?watch=true&{query}") as reply:
            await until(lambda: self.app.watches.count() > before)
            yield reply

    async def read(self, reply: httpx.Response, until: int) -> list[tuple[str, str]]:
        async with asyncio.timeout(10):
            async for line in reply.aiter_lines():
                self.lines.append(json.loads(line))
                if len(self.lines) == until:
                    break
        told, self.lines = self.lines, []
        return [(line["type"], line["object"].get("metadata", {}).get("name", "")) for line in told]


@asynccontextmanager
async def rig_of(
    store: Store, *, rbac: bool = False, without: frozenset[kinds.Kind] = frozenset()
) -> AsyncIterator[Rig]:
    served = [kind for kind in kinds.KINDS if kind not in without]
    app = ApiServer(store, rbac=rbac, served=served, bookmark_seconds=0.1)
    async with serving(app) as server, httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=10) as http:
        yield Rig(server, http, store)


@pytest.fixture
def store() -> Store:
    return Store(lambda: datetime.now(UTC), rules=RULES)


@pytest.fixture
async def rig(store: Store) -> AsyncIterator[Rig]:
    async with rig_of(store) as rig:
        yield rig


async def test_a_watch_without_a_version_begins_with_all_there_is(rig: Rig) -> None:
    rig.create_pod("a")
    rig.create_pod("b")
    async with rig.watching() as reply:
        rig.label("a", x="y")
        seen = await rig.read(reply, 3)
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]


async def test_a_watch_resumes_after_the_version_it_names(rig: Rig) -> None:
    version = rig.create_pod("a")["metadata"]["resourceVersion"]
    rig.create_pod("b")
    assert await rig.watch(f"resourceVersion={version}", until=1) == [("ADDED", "b")]


async def test_a_pod_that_comes_to_match_is_added_and_one_that_ceases_to_is_deleted(rig: Rig) -> None:
    rig.create_pod("a", job="j")
    rig.create_pod("b")
    async with rig.watching("labelSelector=job%3Dj") as reply:
        rig.label("b", job="j")
        rig.label("a", job="other")
        rig.label("a", job="another")
        rig.label("b", x="y")
        seen = await rig.read(reply, 4)
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("MODIFIED", "b")]


async def test_a_watch_of_pods_of_a_node_goes_by_field(rig: Rig) -> None:
    rig.create_pod("a")
    rig.store.edit(kinds.POD, "a", "default", lambda pod: pod["spec"].update(nodeName="n"), subresource="binding")
    rig.create_pod("b")
    assert await rig.watch("fieldSelector=spec.nodeName%3Dn&timeoutSeconds=1", until=5) == [("ADDED", "a")]


async def test_a_watch_after_compaction_is_told_410_inside_a_200(rig: Rig) -> None:
    version = rig.create_pod("a")["metadata"]["resourceVersion"]
    rig.label("a", x="y")
    rig.store.compact()
    async with rig.http.stream("GET", f"{PODS}?watch=true&resourceVersion={version}") as reply:
        assert reply.status_code == 200
        lines = [json.loads(line) async for line in reply.aiter_lines()]
    assert [(line["type"], line["object"]["code"], line["object"]["reason"]) for line in lines] == [
        ("ERROR", 410, "Expired")
    ]


async def test_bookmarks_carry_the_version_of_changes_that_the_watch_does_not_see(rig: Rig) -> None:
    version = rig.create_pod("a")["metadata"]["resourceVersion"]
    rig.store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {}})
    query = f"watch=true&resourceVersion={version}&allowWatchBookmarks=true"
    async with rig.http.stream("GET", f"{PODS}?{query}") as reply:
        line = json.loads(await anext(reply.aiter_lines()))
    assert line["type"] == "BOOKMARK"
    assert line["object"]["metadata"] == {"resourceVersion": str(rig.store.version), "creationTimestamp": None}


async def test_a_watch_from_a_future_version_waits_for_what_comes_after_it(rig: Rig) -> None:
    async with rig.watching(f"resourceVersion={rig.store.version + 2}") as reply:
        for name in "abc":
            rig.create_pod(name)
        assert await rig.read(reply, 1) == [("ADDED", "c")]


async def test_a_watch_ends_at_its_timeout(rig: Rig) -> None:
    reply = await rig.http.get(f"{PODS}?watch=true&timeoutSeconds=1")
    assert (reply.status_code, reply.text) == (200, "")


async def test_a_page_stays_at_the_version_of_the_first(rig: Rig) -> None:
    for name in "abcd":
        rig.create_pod(name)
    first = (await rig.http.get(f"{PODS}?limit=2")).json()
    rig.create_pod("aa")
    rig.store.delete(kinds.POD, "d", "default")
    token = first["metadata"]["continue"]
    second = (await rig.http.get(f"{PODS}?limit=2&continue={token}")).json()
    assert [pod["metadata"]["name"] for pod in first["items"] + second["items"]] == ["a", "b", "c", "d"]
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}
    assert first["metadata"]["remainingItemCount"] == 2


async def test_a_page_that_is_too_old_is_expired(rig: Rig) -> None:
    rig.create_pod("a")
    rig.create_pod("b")
    token = (await rig.http.get(f"{PODS}?limit=1")).json()["metadata"]["continue"]
    rig.app.lists.expire()
    reply = await rig.http.get(f"{PODS}?limit=1&continue={token}")
    assert (reply.status_code, reply.json()["reason"]) == (410, "Expired")


async def test_items_of_a_native_list_have_no_head_and_those_of_a_custom_one_do(rig: Rig) -> None:
    rig.create_pod("a")
    rig.store.create(kinds.VOLCANO_COMMAND, {"metadata": {"name": "c"}, "action": "RestartJob"}, "default")
    pods = (await rig.http.get(PODS)).json()
    commands = (await rig.http.get("/apis/bus.volcano.sh/v1alpha1/commands")).json()
    assert (pods["kind"], "kind" in pods["items"][0]) == ("PodList", False)
    assert (commands["kind"], commands["items"][0]["kind"]) == ("CommandList", "Command")


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


async def test_a_kind_whose_crd_is_absent_is_not_served(store: Store) -> None:
    async with rig_of(store, without=frozenset({kinds.VOLCANO_JOB})) as rig:
        jobs = await rig.http.get("/apis/batch.volcano.sh/v1alpha1/jobs")
        groups = (await rig.http.get("/apis")).json()["groups"]
        volcano = await rig.http.get("/apis/batch.volcano.sh/v1alpha1")
    assert jobs.json()["message"] == "the server could not find the requested resource"
    assert "batch.volcano.sh" not in [group["name"] for group in groups]
    assert volcano.status_code == 404


async def test_discovery_names_resources_and_the_version(rig: Rig) -> None:
    batch = (await rig.http.get("/apis/batch/v1")).json()
    assert [one["name"] for one in batch["resources"]] == ["jobs", "jobs/status"]
    pods = (await rig.http.get("/api/v1")).json()["resources"]
    assert "pods/eviction" in [one["name"] for one in pods]
    assert (await rig.http.get("/version")).json()["gitVersion"] == "v1.36.2"
    assert (await rig.http.get("/readyz")).text == "ok"


async def test_a_throttled_request_is_told_when_to_come_again(rig: Rig) -> None:
    rig.app.refuse = lambda ask: errors.throttled(3) if ask.verb == "list" else None
    reply = await rig.http.get(PODS)
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "3")
    assert reply.headers["content-type"].startswith("text/plain")
    assert rig.app.calls[-1].code == 429


async def test_a_failing_server_ends_its_watches_and_answers_503_until_it_recovers(rig: Rig) -> None:
    async with rig.watching() as reply:
        rig.app.fail()
        assert await rig.read(reply, 1) == []
    assert (await rig.http.get(PODS)).status_code == 503
    rig.app.recover()
    assert (await rig.http.get(PODS)).status_code == 200


async def test_a_server_that_went_away_comes_back_on_its_port(rig: Rig) -> None:
    rig.create_pod("a")
    await rig.server.down()
    with pytest.raises(httpx.TransportError):
        await rig.http.get(PODS)
    await rig.server.up()
    assert len((await rig.http.get(PODS)).json()["items"]) == 1


async def test_each_call_is_remembered_in_the_words_of_roles(rig: Rig) -> None:
    rig.create_pod("a")
    await rig.http.get(f"{PODS}?limit=5")
    await rig.http.post(f"{PODS}/a/eviction", json={"metadata": {"name": "a"}})
    await rig.http.delete(PODS)
    told = [(call.verb, call.resource, call.name, call.code) for call in rig.app.calls]
    assert told == [
        ("list", "pods", "", 200),
        ("create", "pods/eviction", "a", 201),
        ("deletecollection", "pods", "", 200),
    ]


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


async def test_a_pods_log_is_read_by_container_and_tail(rig: Rig) -> None:
    rig.create_pod("a")
    rig.app.verbs.read_log = lambda pod, container: f"{pod['metadata']['name']} {container}\nlast\n"
    waiting = await rig.http.get(f"{PODS}/a/log")
    assert waiting.status_code == 400
    rig.store.patch(kinds.POD, "a", {"status": {"phase": "Running"}}, "default", subresource="status")
    assert (await rig.http.get(f"{PODS}/a/log")).text == "a main\nlast\n"
    assert (await rig.http.get(f"{PODS}/a/log?tailLines=1")).text == "last\n"


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


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - what is waited for happens in the same loop
            await asyncio.sleep(0)
