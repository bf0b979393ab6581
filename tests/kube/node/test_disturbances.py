"""What people and others do while a training recovers, or to more than one pod: still one decision for each cause."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.contracts.events import (
    IncidentClosed,
    IncidentOpened,
    IsolationDeclined,
    JobDeleted,
    JobFailed,
    JobResumed,
    JobStopRequested,
    NodeIsolated,
    NodeReleased,
    RecoveryPlanned,
    TaskLost,
)
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.orders import ReleaseNode
from keepstep.contracts.taxonomy import Level, LossCause, Outcome

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.objects import Obj
from .manifests import pod, shell
from .nodes import Fate
from .services import POOL, Keepstep, keepstep_on
from .stack import kube_stack
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

HELD = "example.com/backup"
"""A finalizer of somebody who wants to look at pods before they are gone."""


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=1) as k, keepstep_on(k) as stack:
        yield stack


@pytest.mark.parametrize("placed", [False, True])
async def test_a_node_cordoned_by_somebody_in_the_middle_loses_no_replacement(
    s: Keepstep, undisturbed: Losses, placed: bool
) -> None:
    """``placed``: when the replacement is there already, and stays; else it comes to another node."""
    before = await begun(s)
    node, pids = str(before["1"].node), processes(s, before["1"])
    s.k.store.delete(kinds.POD, before["1"].name, "default")
    if placed:
        await s.k.until(lambda: "1" in (now := living(s)) and now["1"].node)
        node = str(living(s)["1"].node)
    else:
        await s.until(lambda: about(s, TaskLost), "the loss is said")
    s.k.nodes.cordon(node)
    await resumed(s, Level.POD, undisturbed=undisturbed)
    assert lost(s)[0] is LossCause.DELETED
    assert "no controller says that it was" in lost(s)[1]
    assert (living(s)["0"].uid, living(s)["1"].node == node) == (before["0"].uid, placed)
    expect_cordon_of_another(s, node)
    await dead(s, pids)


async def test_a_deletion_that_is_told_when_the_replacement_runs_takes_nothing(
    s: Keepstep, undisturbed: Losses
) -> None:
    """Somebody's finalizer keeps the object of the old pod until long after its successor trains."""
    before = await begun(s)
    old, pids = before["1"].name, processes(s, before["1"])
    hold(s, old)
    s.k.store.delete(kinds.POD, old, "default")
    await resumed(s, Level.POD, undisturbed=undisturbed)
    after = living(s)
    assert after["1"].uid != before["1"].uid
    assert s.k.pod(old) is not None
    await dead(s, pids)
    let_go(s, old)
    await s.k.until(lambda: s.k.pod(old) is None)
    await goes_on(s)
    assert {seat: now.uid for seat, now in living(s).items()} == {seat: then.uid for seat, then in after.items()}
    assert [len(s.all(kind)) for kind in (TaskLost, IncidentOpened, RecoveryPlanned, JobResumed)] == [1, 1, 1, 1]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_job_whose_object_is_deleted_ends_and_nobody_starts_it_again(s: Keepstep, propagation: str) -> None:
    before = await begun(s)
    pids = processes(s, *before.values())
    s.k.store.delete(kinds.JOB, "j", "default", DeleteOptions(propagation=propagation))
    await s.until(lambda: s.all(JobDeleted), "the job is over")
    await s.k.until(lambda: not s.k.pods("j") and s.k.store.find(kinds.JOB, "j", "default") is None)
    await dead(s, pids)
    (stopped,) = s.all(JobStopRequested)
    assert stopped.by == "the cluster"
    assert "was deleted" in stopped.reason
    assert [closed.outcome for closed in s.all(IncidentClosed)] in ([], [Outcome.JOB_GONE])
    assert len(s.all(IncidentClosed)) == len(s.all(IncidentOpened))
    assert [s.all(RecoveryPlanned), s.all(JobResumed), s.all(JobFailed), s.all(NodeIsolated)] == [[], [], [], []]


async def test_incidents_of_two_jobs_on_one_node_are_one_isolation_and_one_release(
    tmp_path: Path, undisturbed: Losses
) -> None:
    """First a rank of one job dies there, then the machine with a task of each; a person releases it once."""
    async with kube_stack(tmp_path, nodes=3, gpus=2) as k, keepstep_on(k) as s:
        await side_by_side(s, "a", "b")
        s.kill_rank("b", 1)
        await resumed(s, Level.IN_PLACE, undisturbed=undisturbed, job="b")
        pids = processes(s, living(s, "a")["1"], living(s, "b")["1"])
        k.nodes.lose("n1", Fate.DEAD)
        put_out_of_service(s, "n1")
        first = await resumed(s, Level.POD, undisturbed=undisturbed, job="a")
        second = await resumed(s, Level.POD, undisturbed=undisturbed, job="b", earlier=1)
        assert [lost(s, job)[0] for job in ("a", "b")] == [LossCause.NODE_LOST] * 2
        assert first.group == second.group is not None
        (out,) = s.all(NodeIsolated)
        (known,) = [one for one in s.all(IsolationDeclined) if "n1 is already isolated since " in one.because]
        assert (out.node, out.group, known.group) == ("n1", first.group, first.group)
        assert {living(s, job)["1"].node for job in ("a", "b")} == {"n2"}
        await dead(s, pids)
        bring_back(s, "n1")
        await release(s, "n1")
        await goes_on(s, "a")
        await goes_on(s, "b")
        assert len(s.all(NodeReleased)) == 1
        assert len(s.all(IncidentClosed)) == 3


def hold(s: Keepstep, name: str) -> None:
    """Put a finalizer of somebody's on a pod."""

    def change(found: Obj) -> None:
        found["metadata"]["finalizers"] = [*found["metadata"].get("finalizers", ()), HELD]

    s.k.store.edit(kinds.POD, name, "default", change, manager="backup")


def let_go(s: Keepstep, name: str) -> None:
    """Take it off again."""

    def change(found: Obj) -> None:
        found["metadata"]["finalizers"] = [one for one in found["metadata"]["finalizers"] if one != HELD]

    s.k.store.edit(kinds.POD, name, "default", change, manager="backup")


async def side_by_side(s: Keepstep, *jobs: str) -> None:
    """Start two jobs so that each has its first pod on n0 and its second on n1."""
    here = {"kubernetes.io/hostname": "n0"}
    takes = shell("sleep 600", resources={"limits": {"nvidia.com/gpu": "1"}})
    await s.k.apply(pod(takes, name="in-the-way", nodeSelector=here))
    await s.k.until(lambda: (s.k.pod("in-the-way") or {})["spec"].get("nodeName"))
    for job in jobs:
        await begun(s, job, policy=PATIENT)
        assert {seat: each.node for seat, each in living(s, job).items()} == {"0": "n0", "1": "n1"}
        if s.k.pod("in-the-way") is not None:
            s.k.store.delete(kinds.POD, "in-the-way", "default", DeleteOptions(grace=0))


def bring_back(s: Keepstep, node: str) -> None:
    """Let a machine that was off run again, its pods being gone, and say no more that it is off."""
    s.k.nodes.find_again(node)

    def change(found: Obj) -> None:
        found["spec"]["taints"] = [one for one in found["spec"]["taints"] if "out-of-service" not in one["key"]]

    s.k.store.edit(kinds.NODE, node, "", change, manager="kubectl-taint")


async def release(s: Keepstep, node: str) -> None:
    """Order a node's release as a person does, and wait until it takes pods."""
    order = ReleaseNode(
        id=EventId("free"), time=datetime.now(UTC), pool=POOL, node=NodeName(node), by="alice", reason="repaired"
    )
    await s.client.publish(order)
    await s.until(lambda: s.all(NodeReleased), "the node is released")
    found = s.k.store.get(kinds.NODE, node)
    assert not found["spec"].get("unschedulable")
    assert "keepstep.io/isolated" not in f"{found['metadata'].get('annotations')} {found['spec'].get('taints')}"
