"""Limited to some namespaces, keepstep has no right on pods and jobs elsewhere, and does all its work where it has."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepstep.adapters.kube_errors import Refused
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_pod import pod_of
from keepstep.adapters.kube_resources import PODS
from keepstep.adapters.kube_spread import Spread
from keepstep.adapters.sink_kubernetes import KubernetesSink
from keepstep.cli.cluster_doctor import examine_cluster
from keepstep.cli.doctor import State
from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.taxonomy import Level, Service
from keepstep.contracts.topology import JobRef
from keepstep.runtime.client import Client
from tests.injection.manifests import manifest
from tests.kube.cluster import Cluster, cluster, until
from tests.kube.objects import merged
from tests.kube.server import kinds
from tests.kube.stage import launches, order, placed, pursue, stage
from tests.notifier.story import Clock, Desk, closed
from tests.rights.manifests import BASE, K8S, Obj, documents, named, of_kind, pod, rendered, way
from tests.rights.test_manifests import SERVER
from tests.rights.test_rbac import granted
from tests.rights.test_rbac_calls import client_of

COMPONENT, LIMITED = K8S / "components/namespaces", K8S / "jobs-limited"
NODES, BINDINGS = documents(COMPONENT / "nodes.yaml"), documents(LIMITED / "services.yaml")
TAKEN = {"keepstep-scheduler-adapter", "keepstep-notifier"}
KINDS = {
    "ClusterRole": kinds.CLUSTER_ROLE,
    "ClusterRoleBinding": kinds.CLUSTER_ROLE_BINDING,
    "Role": kinds.ROLE,
    "RoleBinding": kinds.ROLE_BINDING,
}


def act_as(there: Cluster, service: Service, *namespaces: str) -> None:
    """Let whoever connects from now on be this service, with rights on jobs in these namespaces alone."""
    cluster_wide = [*of_kind("ClusterRole"), *of_kind("ClusterRoleBinding"), *NODES]
    for one in cluster_wide:
        if one["kind"] != "ClusterRoleBinding" or one["metadata"]["name"] not in TAKEN:
            there.store.create(KINDS[one["kind"]], one, one["metadata"].get("namespace", ""))
    for namespace in namespaces:
        for one in BINDINGS:
            there.store.create(kinds.ROLE_BINDING, one, namespace)
    access = there.server.app.access
    access.enforced = True
    access.admin_token = access.token("keepstep", service)


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> list[Obj]:
    folder = tmp_path_factory.mktemp("overlay")
    names = {"name": "job-namespaces", "namespace": "keepstep", "literals": ['namespaces=["train", "research"]']}
    parts: dict[str, Any] = {"resources": [way(folder, BASE)], "components": [way(folder, COMPONENT)]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(parts | {"configMapGenerator": [names]}))
    return rendered(folder)


def test_no_right_on_the_whole_cluster_is_left_but_on_nodes_and_to_ask_who_somebody_is(overlay: list[Obj]) -> None:
    bound = [one for one in overlay if one["kind"] == "ClusterRoleBinding"]
    roles = {one["metadata"]["name"]: one for one in overlay if one["kind"] == "ClusterRole"}
    for one in bound:
        if one["subjects"][0]["name"] in ("scheduler-adapter", "notifier"):
            assert {resource for _, resource, _ in granted(roles[one["roleRef"]["name"]])} == {"nodes"}
    of_nodes = {"scheduler-adapter", "notifier", "detector", "isolator", "console"}
    assert {one["subjects"][0]["name"] for one in bound} == {*of_nodes, "gate"}
    [gate] = [one for one in bound if one["subjects"][0]["name"] == "gate"]
    asked = {resource for _, resource, _ in granted(roles[gate["roleRef"]["name"]])}
    assert asked == {"tokenreviews", "subjectaccessreviews"}


def test_what_is_left_is_what_the_role_of_the_base_has_on_nodes() -> None:
    for service in ("scheduler-adapter", "notifier"):
        [left] = [one for one in NODES if one["kind"] == "ClusterRole" and service in one["metadata"]["name"]]
        whole = granted(named("ClusterRole", f"keepstep-{service}"))
        assert granted(left) == {one for one in whole if one[1] == "nodes"}


def test_both_services_are_told_the_namespaces(overlay: list[Obj]) -> None:
    [told] = [one for one in overlay if one["kind"] == "ConfigMap" and "job-namespaces" in one["metadata"]["name"]]
    for one in overlay:
        if one["kind"] == "Deployment" and one["metadata"]["name"] in ("scheduler-adapter", "notifier"):
            [container] = pod(one)["containers"]
            env = {each["name"]: each for each in container["env"]}
            ref = env["KEEPSTEP_NAMESPACES"]["valueFrom"]["configMapKeyRef"]
            assert ref == {"name": told["metadata"]["name"], "key": "namespaces"}


def test_a_namespace_binds_the_roles_of_the_base() -> None:
    assert {one["roleRef"]["name"] for one in BINDINGS} == TAKEN
    for one in (*NODES, *BINDINGS):
        pytest.importorskip("kubernetes_validate").validate(one, SERVER, strict=True)
    names = [one["metadata"]["name"] for one in rendered(LIMITED)]
    assert sorted(names) == [
        "keepstep-agents",
        "keepstep-notifier",
        "keepstep-notifier-history",
        "keepstep-scheduler-adapter",
    ]


@pytest.mark.parametrize("kind", [JobKind.JOB, JobKind.VOLCANO])
async def test_a_job_of_a_namespace_that_is_named_is_placed_and_restarted(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on:
        act_as(on.there, Service.SCHEDULER_ADAPTER, "default")
        async with on.hands(namespaces=["default"]) as hands:
            on.submit(kind)
            job = await placed(hands)
            report = await pursue(hands, order(job.job, Level.JOB, *launches(job.job)))
            assert all(report.gone.values())
    assert [write.refused for write in on.there.writes if "forbidden" in write.refused] == []


def labelled(there: Cluster, namespace: str) -> None:
    there.store.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    spec = {"containers": [{"name": "main", "image": "i"}]}
    meta = {"name": f"in-{namespace}", "labels": {JOB_LABEL: "j"}}
    there.store.create(kinds.POD, {"metadata": meta, "spec": spec}, namespace)


async def test_pods_of_the_namespaces_are_seen_and_others_are_not(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        for namespace in ("train", "research", "private"):
            labelled(there, namespace)
        act_as(there, Service.SCHEDULER_ADAPTER, "train", "research")
        client = client_of(there, tmp_path)
        spread = Spread(client, PODS, pod_of, namespaces=["train", "research"], rhythm=there.rhythm)
        seen: list[str] = []
        following = asyncio.create_task(spread.follow(lambda change: seen.append(change.now.name)))
        await spread.listed()
        await until(lambda: spread.following)
        assert sorted(seen) == sorted(one.name for one in spread.every()) == ["in-research", "in-train"]
        named_again = there.store.patch(kinds.POD, "in-train", {"metadata": {"labels": {"a": "b"}}}, "train")
        await until(lambda: seen.count("in-train") == 2)
        assert spread.find(next(one.uid for one in spread.every() if one.name == "in-train")) is not None
        assert named_again["metadata"]["namespace"] == "train"
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await client.close()


async def test_a_namespace_that_grants_nothing_is_refused_and_ends_the_others_watches_too(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        labelled(there, "train")
        labelled(there, "private")
        act_as(there, Service.SCHEDULER_ADAPTER, "train")
        client = client_of(there, tmp_path)
        spread = Spread(client, PODS, pod_of, namespaces=["train", "private"], rhythm=there.rhythm)
        with pytest.raises(Refused, match="forbidden"):
            async with asyncio.timeout(20):
                await spread.follow(lambda _: None)
        assert not spread.following
        await client.close()


async def test_objects_of_a_job_are_told_within_the_namespaces(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        meta = {"metadata": {"name": "bert", "labels": {JOB_LABEL: "bert"}}}
        made = there.store.create(kinds.JOB, merged(manifest(JobKind.JOB), meta), "default")
        act_as(there, Service.NOTIFIER, "default")
        client, clock = client_of(there, tmp_path), Clock()
        sink = KubernetesSink(client, clock, namespaces=["default"])
        job = JobRef(name="bert", uid=JobUid(made["metadata"]["uid"]))
        await Desk(objects=sink).tell(closed().model_copy(update={"job": job})).deliver()
        [event] = there.store.list(kinds.EVENT, "default")
        assert event["involvedObject"]["name"] == "bert"
        await client.close()


async def test_the_doctor_asks_in_the_namespaces_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nats_url: str, pool: Pool, client: Client
) -> None:
    del client
    monkeypatch.setenv("KEEPSTEP_NATS_URL", nats_url)
    monkeypatch.setenv("KEEPSTEP_POOL", pool)
    async with cluster(tmp_path) as there:
        act_as(there, Service.SCHEDULER_ADAPTER, "default")
        config = there.server.kubeconfig(tmp_path / "doctor")
        verdicts = []
        for named_ones in ('["default"]', '["default", "private"]', "[]"):
            monkeypatch.setenv("KEEPSTEP_NAMESPACES", named_ones)
            found = await examine_cluster(
                f"kubernetes:{config}", [Service.SCHEDULER_ADAPTER], clock=lambda: datetime.now(UTC)
            )
            verdicts += [one.verdict for one in found if one.what == "rights scheduler-adapter"]
    assert verdicts == [State.OK, State.MISSING, State.MISSING]
