"""What befalls nodes: lost in three ways, found again, cordoned, not ready, deleted, and an API server that is away."""

import asyncio
from typing import Any

import pytest

from ..controllers.pods import condition, holds
from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.objects import Obj
from .manifests import end, phase, pod, shell
from .nodes import Fate
from .stack import KubeStack
from .test_ends import alive


def node(k: KubeStack, name: str) -> Obj:
    return k.store.get(kinds.NODE, name)


def effects(k: KubeStack, name: str, key: str) -> set[str]:
    return {one["effect"] for one in node(k, name)["spec"].get("taints") or () if one["key"].endswith(f"/{key}")}


async def on_a_node(k: KubeStack, script: str = "sleep 600", **spec: Any) -> tuple[str, list[int]]:
    for_a_while = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 40}
        for key in ("unreachable", "not-ready")
    ]
    await k.apply(pod(shell(script), tolerations=for_a_while, **spec))
    await k.until(lambda: phase(k.pod("p")) == "Running")
    await asyncio.sleep(0.2)
    found = k.pod("p")
    assert found is not None
    return found["spec"]["nodeName"], k.processes(found)


async def test_a_node_renews_its_lease_and_stays_ready(k: KubeStack) -> None:
    lease = k.store.get(kinds.LEASE, "n0", "kube-node-lease") if k.store.count(kinds.LEASE) else None
    await k.until(lambda: k.store.find(kinds.LEASE, "n0", "kube-node-lease") not in (None, lease))
    before = k.store.get(kinds.LEASE, "n0", "kube-node-lease")["spec"]["renewTime"]
    await k.until(lambda: k.store.get(kinds.LEASE, "n0", "kube-node-lease")["spec"]["renewTime"] > before)
    assert holds(node(k, "n0"), "Ready")


async def test_a_dead_nodes_pod_is_evicted_and_hangs_and_its_processes_are_gone(k: KubeStack) -> None:
    name, pids = await on_a_node(k)
    k.nodes.lose(name, Fate.DEAD)
    assert not alive(pids)
    await k.until(lambda: condition(node(k, name), "Ready")["status"] == "Unknown")  # type: ignore[index]  # a node that reported has the condition
    await k.until(lambda: effects(k, name, "unreachable") == {"NoSchedule", "NoExecute"})
    await k.until(lambda: "deletionTimestamp" in (k.pod("p") or {})["metadata"])
    await asyncio.sleep(2)
    assert phase(k.pod("p")) == "Running"


async def test_a_node_that_comes_back_from_the_dead_finds_its_containers_gone(k: KubeStack) -> None:
    name, _ = await on_a_node(k)
    k.nodes.lose(name, Fate.DEAD)
    await k.until(lambda: not holds(node(k, name), "Ready"))
    k.nodes.find_again(name)
    await k.until(lambda: phase(k.pod("p")) == "Failed")
    assert end(k.pod("p")) == (255, "Unknown")
    await k.until(lambda: holds(node(k, name), "Ready") and not effects(k, name, "unreachable"))


async def test_a_cut_off_nodes_pod_runs_on_and_ends_once_the_node_hears_of_its_deletion(k: KubeStack) -> None:
    name, pids = await on_a_node(k)
    k.nodes.lose(name, Fate.CUT_OFF)
    k.store.delete(kinds.POD, "p", "default", DeleteOptions(grace=0))
    await k.until(lambda: not holds(node(k, name), "Ready"))
    assert alive(pids)
    k.nodes.find_again(name)
    await k.until(lambda: not alive(pids))


async def test_a_cut_off_nodes_pod_that_nobody_deleted_is_as_before_when_it_is_back(k: KubeStack) -> None:
    name, pids = await on_a_node(k)
    k.nodes.lose(name, Fate.CUT_OFF)
    await k.until(lambda: not holds(node(k, name), "Ready"))
    k.nodes.find_again(name)
    await k.until(lambda: holds(node(k, name), "Ready") and holds(k.pod("p") or {}, "Ready"))
    assert alive(pids) == pids


async def test_what_ended_while_the_node_was_cut_off_is_told_when_it_is_back(k: KubeStack) -> None:
    name, pids = await on_a_node(k, "sleep 1; exit 6")
    k.nodes.lose(name, Fate.CUT_OFF)
    await k.until(lambda: not alive(pids))
    assert phase(k.pod("p")) == "Running"
    k.nodes.find_again(name)
    await k.until(lambda: end(k.pod("p")) == (6, "Error"))


async def test_a_frozen_nodes_processes_go_on_where_they_were(k: KubeStack) -> None:
    name, _ = await on_a_node(k, "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done")
    found = k.pod("p")
    assert found is not None
    k.nodes.lose(name, Fate.FROZEN)
    before = k.log(found, "main")
    await asyncio.sleep(0.5)
    assert k.log(found, "main") == before
    k.nodes.find_again(name)
    await k.until(lambda: len(k.log(found, "main")) > len(before))
    assert phase(k.pod("p")) == "Running"


async def test_a_cordoned_node_takes_no_new_pod_and_keeps_the_old_one(k: KubeStack) -> None:
    name, pids = await on_a_node(k)
    k.nodes.cordon(name)
    await k.until(lambda: effects(k, name, "unschedulable") == {"NoSchedule"})
    await k.apply(pod(shell("sleep 600"), name="q"))
    await k.until(lambda: phase(k.pod("q")) == "Running")
    other = k.pod("q")
    assert other is not None
    assert other["spec"]["nodeName"] != name
    assert alive(pids) == pids


async def test_a_node_that_says_it_is_not_ready_gets_no_pods_and_loses_its_own(k: KubeStack) -> None:
    name, pids = await on_a_node(k)
    k.nodes.say_not_ready(name)
    await k.until(lambda: effects(k, name, "not-ready") == {"NoSchedule", "NoExecute"})
    await k.until(lambda: k.pod("p") is None)
    assert not alive(pids)
    k.nodes.say_ready(name)
    await k.until(lambda: not effects(k, name, "not-ready"))


@pytest.mark.parametrize("fate", [Fate.DEAD, Fate.CUT_OFF])
async def test_pods_of_a_node_whose_object_is_deleted_are_collected(k: KubeStack, fate: Fate) -> None:
    name, pids = await on_a_node(k)
    k.nodes.lose(name, fate)
    k.nodes.delete(name)
    await k.until(lambda: k.pod("p") is None)
    assert bool(alive(pids)) is (fate is Fate.CUT_OFF)


async def test_while_the_api_server_is_away_pods_run_and_nothing_is_told(k: KubeStack) -> None:
    name, pids = await on_a_node(k, "sleep 1; exit 6")
    async with k.outage():
        reply = await k.http.get("/api/v1/nodes")
        assert reply.status_code == 503
        await asyncio.sleep(4)
        assert not alive(pids)
        assert phase(k.pod("p")) == "Running"
    await k.until(lambda: end(k.pod("p")) == (6, "Error"))
    assert holds(node(k, name), "Ready")
