"""A training on the cluster, and what takes its pods away: one incident, one restart, and the cause by its name."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

import pytest

from keepstep.contracts.events import IncidentOpened, IsolationDeclined, NodeIsolated, RecoveryPlanned
from keepstep.contracts.taxonomy import Category, Level, LossCause

from ..controllers.pods import holds
from ..server import kinds
from .manifests import phase, pod, shell
from .nodes import Fate
from .services import Keepstep, keepstep_on
from .stack import JOB_LABEL, kube_stack
from .struck import (
    PATIENT,
    Losses,
    about,
    begun,
    dead,
    expect_cordon_of_another,
    goes_on,
    living,
    lost,
    processes,
    put_out_of_service,
    resumed,
)

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=1) as k, keepstep_on(k) as stack:
        yield stack


async def test_a_node_that_is_taken_away_with_its_pod_costs_one_plan(s: Keepstep, undisturbed: Losses) -> None:
    """The peer's word comes first, and the cluster's while that settles: no plan keeps a task that is gone."""
    before = await begun(s)
    node = str(before["1"].node)
    pids = processes(s, before["1"])
    s.k.nodes.lose(node, Fate.DEAD)
    s.k.nodes.delete(node)
    closed = await resumed(s, Level.POD, undisturbed=undisturbed)
    assert closed.category is Category.NODE_HARDWARE
    assert lost(s) == (LossCause.NODE_LOST, f"pod {before['1'].name}: node {node} is deleted")
    await expect_other_node(s, before["1"].uid, node, pids)
    assert living(s)["0"].uid == before["0"].uid


async def test_a_node_that_is_found_lost_after_the_verdict_costs_no_second_start(
    s: Keepstep, undisturbed: Losses
) -> None:
    """The first plan stops the peer and starts nobody while the lost task has not confirmed; the second takes over."""
    before = await begun(s)
    node = str(before["1"].node)
    pids = processes(s, before["1"])
    s.k.nodes.lose(node, Fate.DEAD)
    await s.until(lambda: about(s, RecoveryPlanned), "the peer's word is acted on")
    await s.k.until(lambda: not holds(s.k.store.get(kinds.NODE, node), "Ready"))
    s.k.nodes.delete(node)
    await resumed(s, Level.IN_PLACE, Level.POD, undisturbed=undisturbed)
    assert lost(s) == (LossCause.NODE_LOST, f"pod {before['1'].name}: node {node} is deleted")
    await expect_other_node(s, before["1"].uid, node, pids)
    assert living(s)["0"].uid == before["0"].uid


async def test_a_node_that_somebody_cordons_when_it_is_lost_stays_theirs(s: Keepstep, undisturbed: Losses) -> None:
    before = await begun(s, policy=PATIENT)
    node = str(before["1"].node)
    pids = processes(s, before["1"])
    s.k.nodes.lose(node, Fate.DEAD)
    await s.until(lambda: about(s, IncidentOpened), "the peer's word opens an incident")
    s.k.nodes.cordon(node)
    put_out_of_service(s, node)
    await resumed(s, Level.POD, undisturbed=undisturbed)
    assert lost(s) == (LossCause.NODE_LOST, f"pod {before['1'].name}: node {node} is out of service")
    (declined,) = s.all(IsolationDeclined)
    assert (declined.because, s.all(NodeIsolated)) == (f"{node} is cordoned by kubectl-cordon: left as it is", [])
    expect_cordon_of_another(s, node)
    await expect_other_node(s, before["1"].uid, node, pids)


async def test_an_eviction_that_the_budget_refuses_changes_nothing_and_one_that_it_allows_is_one_loss(
    s: Keepstep, undisturbed: Losses
) -> None:
    before = await begun(s)
    name, pids = before["1"].name, processes(s, before["1"])
    await keep(s, 2)
    assert await evict(s, name) == HTTPStatus.TOO_MANY_REQUESTS
    await goes_on(s)
    assert (s.all(IncidentOpened), living(s)["1"].uid) == ([], before["1"].uid)
    await keep(s, 1)
    assert await evict(s, name) == HTTPStatus.CREATED
    closed = await resumed(s, Level.POD, undisturbed=undisturbed)
    assert closed.category is Category.PREEMPTED
    expect_loss(s, LossCause.EVICTED, name, "EvictionByEvictionAPI")
    await dead(s, pids)
    assert living(s)["0"].uid == before["0"].uid
    assert s.all(NodeIsolated) == []


async def test_a_pod_whose_place_a_more_important_one_takes_moves(s: Keepstep, undisturbed: Losses) -> None:
    before = await begun(s)
    node, pids = str(before["1"].node), processes(s, before["1"])
    await s.k.apply(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "urgent"},
            "value": 1000,
        }
    )
    container = shell("sleep 600", resources={"limits": {"nvidia.com/gpu": "1"}})
    here = {"kubernetes.io/hostname": node}
    await s.k.apply(pod(container, name="urgent", priorityClassName="urgent", priority=1000, nodeSelector=here))
    closed = await resumed(s, Level.POD, undisturbed=undisturbed)
    assert closed.category is Category.PREEMPTED
    expect_loss(s, LossCause.PREEMPTED, before["1"].name, "PreemptionByScheduler")
    await expect_other_node(s, before["1"].uid, node, pids)
    assert phase(s.k.pod("urgent")) == "Running"
    assert (living(s)["0"].uid, s.all(NodeIsolated)) == (before["0"].uid, [])


async def expect_other_node(s: Keepstep, uid: str, node: str, pids: list[int]) -> None:
    """The task in seat 1 runs in another pod, on another node, and nothing is left of the pod that it had."""
    now = living(s)["1"]
    assert now.uid != uid
    assert now.node != node
    await dead(s, pids)


def expect_loss(s: Keepstep, cause: LossCause, name: str, condition: str) -> None:
    """The loss was said once, with this cause and in the words of whoever took the pod."""
    by, text = lost(s)
    assert by is cause
    assert text.startswith(f"pod {name}: {condition}: ")


async def keep(s: Keepstep, pods: int) -> None:
    """Say by a budget how many of the job's pods must be there, and wait until that is counted."""
    spec = {"minAvailable": pods, "selector": {"matchLabels": {JOB_LABEL: "j"}}}
    made = await s.k.apply(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "whole"}, "spec": spec}
    )
    wanted = {
        "observedGeneration": made["metadata"]["generation"],
        "currentHealthy": 2,
        "desiredHealthy": pods,
        "disruptionsAllowed": 2 - pods,
    }
    await s.k.until(lambda: wanted.items() <= s.k.store.get(kinds.PDB, "whole", "default").get("status", {}).items())


async def evict(s: Keepstep, name: str) -> int:
    """Ask for a pod's eviction as ``kubectl drain`` does and return the server's code."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    reply = await s.k.http.post(f"/api/v1/namespaces/default/pods/{name}/eviction", json=body)
    return reply.status_code
