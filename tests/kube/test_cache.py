"""The cache follows a real watch: pages, gaps, outages, throttling; and it stays small."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from keepstep.adapters import kube_cache
from keepstep.adapters.kube_cache import Cache, Hooks, Rhythm
from keepstep.adapters.kube_errors import Refused
from keepstep.adapters.kube_objects import ObjectUid, PodUid
from keepstep.adapters.kube_pod import Pod, PodPhase, pod_of
from keepstep.adapters.kube_resources import PODS
from keepstep.adapters.kube_shelf import Change, How, Shelf
from tests.kube.api import Api
from tests.kube.cluster import LIMIT_S, until
from tests.kube.objects import sample
from tests.kube.server import errors, kinds

pytestmark = pytest.mark.any_api

FORBIDDEN = errors.ApiError(403, "Forbidden", 'pods is forbidden: User "x" cannot list resource "pods"')


class Followed:
    """A cache that is being followed, and all it said."""

    def __init__(self, there: Api) -> None:
        self.said: list[Change[Pod]] = []
        self.broke: list[str] = []
        hooks = Hooks(broke=lambda _, why: self.broke.append(why))
        self.cache = Cache(there.client, PODS, pod_of, selector=there.everything, hooks=hooks, rhythm=there.rhythm)

    async def run(self) -> None:
        async for change in self.cache.changes():
            self.said.append(change)

    def names(self, how: How) -> list[str]:
        return [change.now.name for change in self.said if change.how is how]

    @property
    def held(self) -> list[str]:
        return sorted(pod.name for pod in self.cache.items.values())


@asynccontextmanager
async def followed(there: Api) -> AsyncIterator[Followed]:
    follower = Followed(there)
    task = asyncio.create_task(follower.run())
    try:
        await follower.cache.listed()
        await until(lambda: there.gate.watching > 0)
        yield follower
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_cache_begins_with_all_there_is_and_follows(there: Api) -> None:
    await there.pod("a")
    async with followed(there) as follower:
        await there.pod("b")
        await until(lambda: follower.held == ["a", "b"])
        await there.admin.patch(kinds.POD, "a", {"metadata": {"labels": {"keepstep.io/x": "1"}}}, there.namespace)
        await there.admin.delete(kinds.POD, "b", there.namespace)
        await until(lambda: follower.held == ["a"])
    assert follower.names(How.ADDED) == ["a", "b"]
    assert follower.names(How.CHANGED)[:1] == ["a"]
    assert follower.names(How.GONE) == ["b"]
    assert all(change.seen for change in follower.said)


async def test_a_list_longer_than_a_page_is_read_whole(there: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube_cache, "PAGE", 3)
    for index in range(8):
        await there.pod(f"p{index}")
    async with followed(there) as follower:
        assert len(follower.held) == 8
    assert sum("limit=3" in passing.query for passing in there.gate.passed) == 3


async def test_a_watch_resumes_where_it_broke_and_says_nothing_twice(there: Api) -> None:
    await there.pod("a")
    async with followed(there) as follower:
        there.gate.cut()
        await there.pod("b")
        await until(lambda: follower.held == ["a", "b"])
    assert sum(passing.lists for passing in there.gate.passed) == 1
    assert sum(passing.watches for passing in there.gate.passed) > 1
    assert follower.names(How.ADDED) == ["a", "b"]


async def test_a_deletion_that_fell_into_a_gap_is_found_by_the_relist(there: Api) -> None:
    """The watch answers 200 and one ERROR event 410 (trace api/errors)."""
    await there.pod("a")
    await there.pod("kept")
    async with followed(there) as follower:
        await there.down()
        await there.admin.delete(kinds.POD, "a", there.namespace)
        anew = await there.pod("a")
        there.forget()
        await there.up()
        await until(lambda: any(change.how is How.GONE for change in follower.said))
        await until(lambda: follower.held == ["a", "kept"])
        gone = next(change for change in follower.said if change.how is How.GONE)
        assert not gone.seen
        assert gone.now.uid != anew["metadata"]["uid"]
    assert "Expired" in follower.broke
    assert follower.names(How.ADDED) == ["a", "kept", "a"]


async def test_an_outage_is_waited_out_with_growing_pauses(there: Api) -> None:
    await there.pod("a")
    async with followed(there) as follower:
        await there.down()
        await until(lambda: there.pauses[-1:] == [kube_cache.LONGEST_PAUSE / 2])
        assert not follower.cache.following
        assert follower.held == ["a"]
        await there.up()
        await until(lambda: follower.cache.following)
        await there.pod("b")
        await until(lambda: follower.held == ["a", "b"])
    assert kube_cache.FIRST_PAUSE / 2 in there.pauses


async def test_a_server_that_throttles_is_given_the_time_it_asks_for(there: Api) -> None:
    there.gate.refuse = lambda asked: errors.throttled(7) if asked.lists and not there.pauses else None
    async with followed(there):
        pass
    assert there.pauses[0] == timedelta(seconds=7)


async def test_a_follower_stopped_half_way_through_the_list_leaves_the_rest_to_the_next(there: Api) -> None:
    for name in ("a", "b", "c"):
        await there.pod(name)
    follower = Followed(there)
    half = follower.cache.changes()
    assert isinstance(half, AsyncGenerator)
    follower.said.append(await anext(half))
    follower.said.append(await anext(half))
    await half.aclose()
    task = asyncio.create_task(follower.run())
    async with asyncio.timeout(LIMIT_S):
        await follower.cache.listed()
    task.cancel()
    assert set(follower.names(How.ADDED)) == {"a", "b", "c"}


async def test_a_cache_that_may_not_read_says_so_instead_of_waiting(there: Api) -> None:
    async with asyncio.timeout(LIMIT_S):
        there.gate.refuse = lambda asked: FORBIDDEN if asked.lists else None
        follower = Followed(there)
        with pytest.raises(Refused, match="keepstep doctor"):
            await follower.run()


def test_pauses_double_to_a_limit_and_half_of_each_is_chance() -> None:
    rhythm = Rhythm(jitter=lambda: 1.0)
    assert [rhythm.pause(n, timedelta(0)).total_seconds() for n in (1, 2, 3, 20)] == [0.5, 1.0, 2.0, 10.0]
    assert Rhythm(jitter=lambda: 0.0).pause(1, timedelta(0)).total_seconds() == 0.25
    assert rhythm.pause(1, timedelta(seconds=20)) == timedelta(seconds=20)


def pod(name: str, version: int, uid: str = "") -> Pod:
    return Pod(PodUid(ObjectUid(uid or name)), "ns", name, str(version), PodPhase.RUNNING)


def test_an_own_write_is_read_at_once_and_an_older_event_does_not_undo_it() -> None:
    shelf: Shelf[Pod] = Shelf()
    shelf.replace([pod("a", 1)])
    assert shelf.put(pod("a", 5)) is not None
    assert shelf.put(pod("a", 3)) is None
    assert shelf.put(pod("a", 5)) is None
    assert [item.version for item in shelf.items.values()] == ["5"]
    assert shelf.replace([pod("a", 4)]) == ()
    assert [item.version for item in shelf.items.values()] == ["5"]


def test_an_own_write_that_is_answered_after_the_deletion_brings_nothing_back() -> None:
    shelf: Shelf[Pod] = Shelf()
    shelf.replace([pod("a", 1)])
    shelf.drop(pod("a", 6))
    assert shelf.learn(pod("a", 5)) is None
    assert not shelf.items


def test_a_list_says_what_differs_and_what_went_unseen() -> None:
    shelf: Shelf[Pod] = Shelf()
    shelf.replace([pod("a", 1), pod("b", 1), pod("c", 1)])
    said = shelf.replace([pod("a", 1), pod("b", 2), pod("c", 3, uid="another c"), pod("d", 4)])
    assert [(change.how, change.now.uid, change.seen) for change in said] == [
        (How.CHANGED, "b", True),
        (How.ADDED, "another c", True),
        (How.ADDED, "d", True),
        (How.GONE, "c", False),
    ]


def test_a_deletion_is_said_once() -> None:
    shelf: Shelf[Pod] = Shelf()
    shelf.put(pod("a", 1))
    gone = shelf.drop(pod("a", 2))
    assert gone is not None
    assert gone.before == pod("a", 1)
    assert shelf.drop(pod("a", 2)) is None


def weight(value: object, seen: set[int]) -> int:
    """Return the bytes of a record and all that only it holds; interned strings and shared owners count once."""
    if id(value) in seen or value is None or isinstance(value, (type, bool)):
        return 0
    seen.add(id(value))
    parts: list[object] = list(value) if isinstance(value, tuple) else []
    parts += [getattr(value, name) for name in getattr(type(value), "__slots__", ())]
    return sys.getsizeof(value) + sum(weight(part, seen) for part in parts)


def distinct(source: dict[str, object], index: int) -> Callable[[], Pod]:
    meta = {**source["metadata"], "uid": f"00000000-0000-0000-0000-{index:012}", "name": f"job-worker-{index}"}  # type: ignore[dict-item]  # a manifest; its metadata is a table
    return lambda: pod_of({**source, "metadata": meta})


@pytest.mark.parametrize(
    "name", ["volcano-pod-running", "jobset-pod-running", "pod-hanging-terminating", "pod-failed-137"]
)
def test_a_pod_takes_less_than_a_kilobyte(name: str) -> None:
    """50,000 pods are then under 50 MB."""
    pods = [distinct(sample(name), index)() for index in range(100)]
    seen: set[int] = set()
    assert sum(weight(one, seen) for one in pods) / 100 < 1024
