"""What an API server and its controllers make of objects, read by the adapters: owners, losses, deletions."""

import pytest

from keepstep.adapters.kube_families import Families
from keepstep.adapters.kube_job import JOB
from keepstep.adapters.kube_job_object import job_object
from keepstep.adapters.kube_loss import Happened, Loss, event_of, loss_of
from keepstep.adapters.kube_loss_words import LossKind
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_objects import reference
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.adapters.kube_shelf import Change, How
from tests.kube.admin import Obj
from tests.kube.api import Api, eventually
from tests.kube.server import kinds

pytestmark = pytest.mark.any_api

POD_SPEC: Obj = {
    "containers": [{"name": "main", "image": "train:1"}],
    "restartPolicy": "Never",
    "automountServiceAccountToken": False,
    "nodeSelector": {"keepstep.io/test": "no-such-node"},
}


async def bound(there: Api, name: str) -> tuple[Obj, Node]:
    """Return a pod on a ready node, where nobody ends it."""
    node = await there.node("n1")
    on = {"containers": POD_SPEC["containers"], "automountServiceAccountToken": False}
    spec = {**on, "nodeName": node["metadata"]["name"]}
    return await there.pod(name, spec=spec), node_of(node)


async def seen(there: Api, name: str) -> Pod:
    return pod_of(await there.admin.get(kinds.POD, name, there.namespace))


async def names(there: Api) -> list[str]:
    return [one["metadata"]["name"] for one in await there.admin.items(kinds.POD, there.namespace)]


async def test_a_pod_that_a_job_made_leads_back_to_it(there: Api) -> None:
    spec = {"parallelism": 2, "completions": 2, "template": {"spec": POD_SPEC}}
    job = await there.create(kinds.JOB, {"metadata": {"name": "j"}, "spec": spec})

    async def made() -> bool:
        return len(await names(there)) == 2

    await eventually(made)
    (found,) = await there.admin.items(kinds.JOB, there.namespace)
    families, top = Families(), job_object(JOB)(found)
    families.job_changed(Change(How.ADDED, top))
    for pod in await there.admin.items(kinds.POD, there.namespace):
        assert families.top_over(pod_of(pod)) == top
    assert top.uid == job["metadata"]["uid"]


async def test_a_pod_that_no_scheduler_took_is_gone_at_once_and_surely_dead(there: Api) -> None:
    made = await there.pod("a")
    await there.client.delete(reference(made), why="a test's")
    assert await names(there) == []
    assert lost(pod_of(made), None, gone=True).proven


async def test_a_pod_on_a_node_without_a_kubelet_hangs_until_it_is_forced_away(there: Api) -> None:
    made, node = await bound(there, "a")
    await there.client.delete(reference(made), why="a test's")
    hanging = await seen(there, "a")
    assert hanging.grace.total_seconds() == 30
    found = lost(hanging, node)
    assert (found.kind, found.proven) == (LossKind.USER_DELETED, False)
    await there.client.delete(reference(made), why="a test's", force=True)
    assert await names(there) == []


async def test_a_pod_that_fits_nowhere_is_unschedulable_in_the_schedulers_words(there: Api) -> None:
    await there.node("n1")
    made = await there.pod("a", spec=POD_SPEC)

    async def looked_at() -> bool:
        return (await seen(there, "a")).unscheduled is not None

    try:
        await eventually(looked_at)
    except TimeoutError:
        pytest.skip("no scheduler of this cluster looked at a pod within 20 s")
    found = lost(await seen(there, "a"), None)
    assert found.kind is LossKind.UNSCHEDULABLE
    assert "nodes are available" in found.because
    await eventually(lambda: told(there, made, "FailedScheduling"))


async def told(there: Api, about: Obj, reason: str) -> bool:
    """Return whether an event gives the reason and names the object by uid."""
    events: list[Happened] = [event_of(one) for one in await there.admin.items(kinds.EVENT, there.namespace)]
    return any(one.reason == reason and one.uid == about["metadata"]["uid"] for one in events)


def lost(pod: Pod, node: Node | None, *, gone: bool = False) -> Loss:
    found = loss_of(pod, gone=gone, node=node)
    assert found is not None
    return found


async def test_a_cordoned_node_is_tainted_by_the_cluster_itself(there: Api) -> None:
    """So a node may be written between two of our own writes, and its taints are never all ours."""
    node = await there.node("n1")
    name = node["metadata"]["name"]
    await there.admin.patch(kinds.NODE, name, {"spec": {"unschedulable": True}})

    async def tainted() -> bool:
        found = node_of(await there.admin.get(kinds.NODE, name))
        return any(taint.key == "node.kubernetes.io/unschedulable" for taint in found.taints)

    await eventually(tainted)
