"""Every rule of a Role is used by its own service, and every call that it makes is allowed: both, by recorded calls.

The calls are those of the adapters on an API server that holds the caller to the shipped Roles.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters import kube_workloads
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import TASK
from keepstep.adapters.kube_tokens import JOIN, Bearer, KubeTokens
from keepstep.adapters.kube_trouble import CONDITIONS
from keepstep.adapters.kube_troubles import KubeTroubles
from keepstep.adapters.kube_view import QUEUE_LABEL
from keepstep.adapters.sink_kubernetes import KubernetesSink
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level, Service, Severity
from keepstep.contracts.topology import JobRef
from keepstep.ports.errors import NoRoom
from keepstep.ports.sink import About, Notice
from keepstep.ports.troubles import Shown
from tests.injection.manifests import manifest
from tests.kube.cluster import cluster, until
from tests.kube.objects import merged
from tests.kube.server import kinds
from tests.kube.shown import STORED
from tests.kube.stage import NOWHERE, Hands, Stage, launches, order, placed, pursue, stage
from tests.notifier.story import Clock
from tests.rights.test_rbac import Grant, needed
from tests.rights.test_rbac_calls import act_as, client_of


async def test_the_detector_uses_its_whole_role_and_no_more(tmp_path: Path) -> None:
    seen: list[Shown] = []

    async def take(shown: Shown) -> None:
        seen.append(shown)

    async with cluster(tmp_path) as there:
        there.node("n1")
        used = act_as(there, Service.DETECTOR)
        client = client_of(there, tmp_path)
        troubles = KubeTroubles(client, conditions=CONDITIONS, mindcluster=False, rhythm=there.rhythm)
        following = asyncio.create_task(troubles.follow(take))
        await until(lambda: ("", "nodes", "watch") in used)
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await client.close()
    assert seen
    assert used == needed(Service.DETECTOR)


async def test_the_notifier_uses_its_whole_role_and_no_more(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        there.node("n1")
        body = merged(manifest(JobKind.JOB), {"metadata": {"name": "bert", "labels": {"keepstep.io/job": "bert"}}})
        made = there.store.create(kinds.JOB, body, "default")
        used = act_as(there, Service.NOTIFIER)
        client = client_of(there, tmp_path)
        sink = KubernetesSink(client, Clock(), between=timedelta(0))
        job = JobRef(name="bert", uid=JobUid(made["metadata"]["uid"]))
        where = {"job": job, "tasks": (TaskUid("t"),), "node": NodeName("n1")}
        for notice in ("1", "2"):
            await sink.deliver(told(notice, **where))
        events = there.store.list(kinds.EVENT, "default")
        assert {event["count"] for event in events} == {2}
        await client.close()
    assert used == needed(Service.NOTIFIER)


def told(name: str, **where: object) -> Notice:
    about = About(reason="IncidentOpened", service=Service.DIAGNOSER, at=datetime.now(UTC), **where)
    return Notice(name, "thread", 1, Severity.INFO, title="t", text="rank 3 was killed", about=about)


async def test_the_gate_uses_its_whole_role_and_no_more(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        token = there.server.app.reviews.pod_token(there.pod("p"), audience="keepstep-bus")
        used = act_as(there, "gate")
        client = client_of(there, tmp_path)
        tokens = KubeTokens(client)
        bearer = await tokens.bearer(token)
        assert isinstance(bearer, Bearer)
        assert not await tokens.may(bearer, JOIN, "default")
        await client.close()
    assert used == needed("gate")


@asynccontextmanager
async def adapter(folder: Path, used: set[Grant]) -> AsyncIterator[tuple[Stage, Hands]]:
    """Be the scheduler-adapter on a cluster with controllers; what it is granted is added to ``used``."""
    async with stage(folder) as on:
        granted = act_as(on.there, Service.SCHEDULER_ADAPTER)
        async with on.hands() as hands:
            yield on, hands
        used |= granted
        assert [write.refused for write in on.there.writes if "forbidden" in write.refused] == []


async def restarted(on: Stage, hands: Hands, kind: JobKind, level: Level) -> None:
    on.submit(kind, restart="ExitCode" if level is Level.POD else "Never")
    job = await placed(hands)
    lost = launches(job.job) if level is Level.JOB else launches(job.job)[1:]
    await pursue(hands, order(job.job, level, *lost))


async def by_eviction(on: Stage, hands: Hands) -> None:
    """A Job that counts no disruption has its pod evicted and not deleted."""
    condition = {"type": "DisruptionTarget", "status": "True"}
    free = {"rules": [{"action": "Ignore", "onPodConditions": [condition]}]}
    on.submit(JobKind.JOB, podFailurePolicy=free)
    job = await placed(hands)
    await pursue(hands, order(job.job, Level.POD, *launches(job.job)[1:]))


async def under_kueue(on: Stage, hands: Hands) -> None:
    """A set whose suspend is Kueue's has its child Jobs deleted."""

    def queued(source: dict[str, Any]) -> None:
        source["metadata"]["labels"][QUEUE_LABEL] = "team-a"

    on.submit(JobKind.JOBSET)
    on.there.store.edit(STORED[JobKind.JOBSET], "j", "default", queued)
    job = await placed(hands)
    await pursue(hands, order(job.job, Level.JOB, *launches(job.job)))


async def short_of_pods(on: Stage, hands: Hands) -> None:
    """Of a job whose pods do not come the controller's events tell why; a task that is not wanted loses its pod."""
    on.submit(JobKind.JOB)
    job = await placed(hands)
    more = launches(job.job, incarnation=2, indexes=(2,))
    with suppress(NoRoom):
        await hands.workloads.create(more, avoid=NOWHERE)
    await hands.workloads.delete(launches(job.job)[0].task.uid, grace=timedelta(0))


async def on_a_node_that_no_list_has(on: Stage, hands: Hands) -> None:
    """A pod that names a node which no list has makes the adapter ask for that node."""
    on.submit(JobKind.JOB)
    await placed(hands)
    asked = on.there.server.app.access.allowed
    [pod, *_] = on.pods().values()
    meta = {name: pod["metadata"][name] for name in ("labels", "ownerReferences")}
    copy = {
        "metadata": {"name": "ghostly", "annotations": {TASK: "x"}, **meta},
        "spec": {**pod["spec"], "nodeName": "ghost"},
    }
    on.there.store.create(kinds.POD, copy, "default")
    await until(lambda: ("", "nodes", "get") in asked)


Scene = Callable[[Stage, Hands], Awaitable[None]]


@pytest.mark.slow
async def test_the_scheduler_adapter_uses_its_whole_role_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_workloads, "COMES", timedelta(seconds=1))
    used: set[Grant] = set()
    scenes: list[Scene] = [by_eviction, under_kueue, short_of_pods, on_a_node_that_no_list_has]
    scenes += [partial(restarted, kind=kind, level=Level.JOB) for kind in JobKind]
    scenes.append(lambda on, hands: restarted(on, hands, JobKind.PYTORCHJOB, Level.POD))
    for number, scene in enumerate(scenes):
        (folder := tmp_path / str(number)).mkdir()
        async with adapter(folder, used) as (on, hands):
            await scene(on, hands)
    assert used == needed(Service.SCHEDULER_ADAPTER)
