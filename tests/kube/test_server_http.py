"""The HTTP face: discovery, absent kinds, throttling, outages, the record of calls, and logs."""

import httpx
import pytest

from tests.kube.rig import PODS, Rig, rig_of
from tests.kube.server import errors, kinds
from tests.kube.server.store import Store


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


async def test_a_pods_log_is_read_by_container_and_tail(rig: Rig) -> None:
    rig.create_pod("a")
    rig.app.verbs.read_log = lambda pod, container: f"{pod['metadata']['name']} {container}\nlast\n"
    waiting = await rig.http.get(f"{PODS}/a/log")
    assert waiting.status_code == 400
    rig.store.patch(kinds.POD, "a", {"status": {"phase": "Running"}}, "default", subresource="status")
    assert (await rig.http.get(f"{PODS}/a/log")).text == "a main\nlast\n"
    assert (await rig.http.get(f"{PODS}/a/log?tailLines=1")).text == "last\n"


async def test_a_client_that_hangs_up_within_its_body_is_let_go(rig: Rig) -> None:
    """Each adapter that was killed in a test left thirty lines of a traceback behind."""
    path = "/api/v1/namespaces/default/pods"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": []}
    heard: list[dict[str, object]] = [
        {"type": "http.request", "body": b'{"meta', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, object]:
        return heard.pop(0)

    async def send(_: object) -> None:
        raise AssertionError("nobody listens")

    await rig.server.app(scope, receive, send)
    assert not heard
