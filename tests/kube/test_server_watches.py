"""The HTTP face's lists and watches: where they begin, what they tell, how they end, and pages."""

import json

from tests.kube.rig import PODS, Rig
from tests.kube.server import kinds


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
