"""``/api/v1`` where the pool's jobs are objects of a Kubernetes: what is ordered, refused, and became of an order."""

from dataclasses import replace
from typing import Any

import pytest

from keepstep.console.context import Console
from keepstep.console.objects import OnObjects
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef
from keepstep.runtime.client import Client
from tests.console.conftest import asking, tell
from tests.console.test_api import ordered

ON_TRAIN = {"image": "train:1", "namespace": "train", "kind": "job", "resources": {"nvidia.com/gpu": 8}}


def on_objects(console: Console, *namespaces: str) -> Console:
    """The same console, of a pool whose jobs are objects of a Kubernetes."""
    return replace(console, desk=replace(console.desk, ground=OnObjects(namespaces)))


async def test_a_job_on_kubernetes_is_ordered_and_its_order_tells_what_became_of_it(
    client: Client, console: Console
) -> None:
    there = on_objects(console, "train")
    asked = {"argv": ["torchrun", "--nproc_per_node=gpu", "t.py"], "name": "bert", "nodes": 2, "kubernetes": ON_TRAIN}
    async with asking(there) as web:
        checked = (await web.post("/jobs", params={"check": True}, json=asked)).json()
        assert (checked["spec"]["nproc"], "Job bert: level in-place" in checked["notes"]) == (8, True)
        assert await ordered(client, o.CreateJob) == []
        answer = await web.post("/jobs", json=asked)
        assert answer.status_code == 202
        (create,) = await ordered(client, o.CreateJob)
        assert (create.kubernetes.namespace, create.kubernetes.command[0], create.by) == ("train", "torchrun", "local")
        uid = answer.json()["job"]["uid"]
        await tell(client, there)
        assert (await web.get(f"/orders/{uid}")).json()["state"] == "waiting"
        assert (await web.get(f"/jobs/{uid}")).status_code == 404, "there is no job yet"
        real = JobRef(name="bert", uid=JobUid("of-the-object"))
        about = {"id": "made", "time": create.time, "pool": client.pool, "job": real, "by": "local"}
        made = e.JobCreated.model_validate(about | {"ordered": create.job, "kind": "Job train/bert"})
        await tell(client, there, made)
        told = (await web.get(f"/orders/{uid}")).json()
        assert (told["state"], told["job"]["uid"], told["because"]) == ("created", real.uid, "Job train/bert")
        assert (await web.get(f"/jobs/{real.uid}")).json()["ref"]["uid"] == real.uid
        assert (await web.post(f"/jobs/{real.uid}/stop", json={"reason": "enough"})).status_code == 202
    (stop,) = await ordered(client, o.StopJob)
    assert stop.job == real


@pytest.mark.parametrize(
    ("namespaces", "change", "because"),
    [
        ((), {}, (409, "KEEPSTEP_CREATE_IN")),
        (("train",), {"kubernetes": None}, (422, "--image: name the image")),
        (("train",), {"kubernetes": ON_TRAIN | {"namespace": "kube-system"}}, (422, "in train alone")),
        (("train",), {"kubernetes": ON_TRAIN | {"hostNetwork": True}}, (422, "hostNetwork")),
        (("train",), {"kubernetes": ON_TRAIN | {"kind": "trainjob"}}, (422, "keepstep job create --kind trainjob")),
        (("train",), {"cwd": "/work"}, (422, "cwd: pods begin in the folder of their image")),
        (None, {}, (422, "kubernetes: only for a job on a cluster")),
    ],
)
async def test_what_the_pool_s_cluster_cannot_make_is_refused_by_field(
    client: Client,
    console: Console,
    namespaces: tuple[str, ...] | None,
    change: dict[str, Any],
    because: tuple[int, str],
) -> None:
    asked = {"argv": ["python", "t.py"], "name": "bert", "kubernetes": ON_TRAIN} | change
    async with asking(console if namespaces is None else on_objects(console, *namespaces)) as web:
        answer = await web.post("/jobs", json=asked)
    assert answer.status_code == because[0]
    assert because[1] in answer.text
    assert await ordered(client, o.CreateJob) == []


async def test_two_orders_alike_in_one_microsecond_are_two(console: Console, client: Client) -> None:
    """They shared an id, and the bus took the second for the first said again."""
    now = console.now()
    hurried = replace(console, desk=replace(console.desk, now=lambda: now))
    asked = {"argv": ["true"], "name": "train", "cwd": "/tmp"}
    async with asking(hurried) as web:
        answers = [await web.post("/jobs", json=asked) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202], answers[0].text
    assert len({answer.json()["job"]["uid"] for answer in answers}) == 2
    assert len(await ordered(client, o.CreateJob)) == 2
