"""The services' own calls against an API server that refuses whatever the shipped Roles do not grant."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_errors import Refused
from keepstep.adapters.kube_evict import KubeEvictions
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_node import node_of
from keepstep.adapters.kube_objects import group
from keepstep.adapters.kube_resources import NODES, PODS
from keepstep.adapters.sink_kubernetes import KubernetesSink
from keepstep.contracts.events import NotificationDropped
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName
from keepstep.contracts.taxonomy import Level, Service
from keepstep.contracts.topology import JobRef
from keepstep.ports.cluster import CordonMark
from tests.injection.manifests import manifest
from tests.kube.cluster import Cluster, cluster
from tests.kube.objects import merged
from tests.kube.server import kinds
from tests.kube.stage import launches, order, placed, pursue, stage
from tests.notifier.story import Clock, Desk, closed
from tests.rights.manifests import K8S, documents
from tests.rights.roles import put_roles
from tests.rights.test_rbac import Grant, needed

PLURALS = {name: (group(kind.resource.api), kind.resource.plural) for name, kind in KINDS.items()}


def act_as(there: Cluster, service: str) -> set[Grant]:
    """Let whoever connects from now on be this service, held to its Role; returns what it is granted when it asks."""
    put_roles(there.store)
    access = there.server.app.access
    access.enforced = True
    access.admin_token = access.token("keepstep", service)
    return access.allowed


def client_of(there: Cluster, folder: Path) -> KubeClient:
    """Return a client of the service that ``act_as`` named."""
    return KubeClient(connect(there.server.kubeconfig(folder / "own")), audit=there.writes.append)


@pytest.mark.parametrize("level", [Level.JOB, Level.POD])
@pytest.mark.parametrize("kind", JobKind)
async def test_a_restart_needs_no_more_than_the_role_of_the_scheduler_adapter(
    tmp_path: Path, kind: JobKind, level: Level
) -> None:
    async with stage(tmp_path) as on:
        used = act_as(on.there, Service.SCHEDULER_ADAPTER)
        async with on.hands() as hands:
            on.submit(kind, restart="ExitCode" if level is Level.POD else "Never")
            job = await placed(hands)
            lost = launches(job.job) if level is Level.JOB else launches(job.job)[1:]
            report = await pursue(hands, order(job.job, level, *lost))
            assert all(report.gone.values())
    group, plural = PLURALS[kind]
    own = {one for one in needed(Service.SCHEDULER_ADAPTER) if one[:2] == (group, plural) and one[2] != "delete"}
    assert own <= used
    assert used <= needed(Service.SCHEDULER_ADAPTER)
    assert [write.refused for write in on.there.writes if "forbidden" in write.refused] == []


async def test_a_cordon_and_a_drain_need_no_more_than_the_role_of_the_isolator(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        there.node("n1")
        there.store.create(
            kinds.POD,
            {"metadata": {"name": "web-0"}, "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"}},
            "default",
        )
        used = act_as(there, Service.ISOLATOR)
        client = client_of(there, tmp_path)
        cache = Cache(client, NODES, node_of, rhythm=there.rhythm)
        fleet = KubeFleet(client, cache, now=lambda: datetime.now(UTC))
        following = asyncio.create_task(fleet.follow())
        node = NodeName("n1")
        async with asyncio.timeout(20):
            await fleet.cordon(node, CordonMark("keepstep", "2 Xid 79", datetime.now(UTC)))
            await KubeEvictions(client).evict(node, why="drain")
            await fleet.uncordon(node, owner="keepstep")
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await client.close()
    assert used == needed(Service.ISOLATOR)


async def test_incidents_are_kept_where_a_namespace_allows_it_and_elsewhere_people_are_told_how(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        named = {"metadata": {"name": "bert", "labels": {"keepstep.io/job": "bert"}}}
        made = there.store.create(kinds.JOB, merged(manifest(JobKind.JOB), named), "default")
        act_as(there, Service.NOTIFIER)
        client, clock = client_of(there, tmp_path), Clock()
        desk = Desk(objects=KubernetesSink(client, clock, between=timedelta(0)))
        job = JobRef(name="bert", uid=JobUid(made["metadata"]["uid"]))
        ended = closed().model_copy(update={"job": job})
        await desk.tell(ended).deliver()
        [dropped] = [one for one in desk.said if isinstance(one, NotificationDropped)]
        assert "forbidden" in dropped.because
        assert dropped.because.endswith("kubectl apply -n default -k k8s/jobs")
        for one in documents(K8S / "jobs/history.yaml"):
            there.store.create(kinds.ROLE_BINDING, one, "default")
        await desk.tell(ended.model_copy(update={"id": EventId("again"), "incident": IncidentId("again")})).deliver()
        [kept] = [one for one in there.store.scan(kinds.CONFIG_MAP) if one["metadata"]["name"].startswith("keepstep-")]
        assert kept["data"]["total"] == "1"
        await client.close()


@pytest.mark.parametrize("service", [Service.DETECTOR, Service.ISOLATOR, Service.NOTIFIER])
async def test_who_may_not_touch_pods_is_refused(tmp_path: Path, service: Service) -> None:
    async with cluster(tmp_path) as there:
        pod = there.pod("p")
        act_as(there, service)
        client = client_of(there, tmp_path)
        with pytest.raises(Refused, match="forbidden"):
            await client.document(PODS.path("default", pod["metadata"]["name"]))
        await client.close()
