"""What people order becomes one object on the cluster, whatever dies between; what cannot be had says what to do."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_errors import Busy
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import ORDER
from keepstep.asking.refused import Refused
from keepstep.contracts.ids import EventId
from keepstep.contracts.kubernetes import DataSource, KubernetesJob, SourceType
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import Command, JobSpec, Script
from keepstep.injection.creating import PREFERRED
from keepstep.injection.ordering import BY_ORDER
from keepstep.injection.ours import Ours
from keepstep.ports.errors import Permanent
from keepstep.scheduler_adapter.core.making import Making
from keepstep.scheduler_adapter.orders import Orders
from tests.kube.cluster import Cluster, cluster
from tests.kube.shown import STORED
from tests.kube.stage import found, stage

OURS = Ours(image="keepstep:0.1.0", pool="default")


def making(order: str = "order-1", *, env: dict[str, str] | None = None, name: str = "bert", **work: Any) -> Making:
    recovery = Policy().recovery.model_copy(update={"levels": (Level.IN_PLACE, Level.JOB)})
    spec = JobSpec(
        name=name,
        entrypoint=Command(argv=("?",)),
        nodes=2,
        env=env or {"A": "1"},
        labels={"team": "nlp"},
        checkpoint_dir="/ckpt",
        policy=Policy(recovery=recovery),
    )
    asked: dict[str, Any] = {
        "image": "registry.example/train:1",
        "command": ("torchrun", "--nproc_per_node=gpu", "train.py"),
        "resources": {"nvidia.com/gpu": 8},
        "sources": (DataSource(type=SourceType.PVC, name="shared", path="/ckpt"),),
    }
    return Making(order=EventId(order), by="eve", spec=spec, work=KubernetesJob(**(asked | work)))


def client_of(there: Cluster, folder: Path) -> KubeClient:
    return KubeClient(connect(there.server.kubeconfig(folder / "own")), audit=there.writes.append)


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path) as made:
        yield made


@pytest.fixture
async def client(there: Cluster, tmp_path: Path) -> AsyncIterator[KubeClient]:
    opened = client_of(there, tmp_path)
    yield opened
    await opened.close()


@pytest.mark.parametrize("kind", BY_ORDER)
async def test_an_order_becomes_a_fault_tolerant_job_of_its_kind_that_is_found_with_what_was_ordered(
    tmp_path: Path, kind: JobKind
) -> None:
    async with stage(tmp_path) as on:
        client = client_of(on.there, tmp_path)
        made = await Orders(client, OURS).make(making(kind=kind, queue="q", priority=""))
        await client.close()
        async with on.hands() as hands:
            seen = await found(hands)
    assert (seen.job, seen.kind) == (made.job, made.kind)
    assert (seen.spec.entrypoint, seen.spec.nodes, seen.spec.nproc) == (Script(path="train.py"), 2, 8)
    assert seen.spec.policy.recovery.levels == (Level.IN_PLACE, Level.JOB)
    assert seen.labels["team"] == "nlp"
    source = on.there.store.get(STORED[kind], "bert", "default")
    assert source["metadata"]["annotations"][ORDER] == "order-1"
    text = str(source["spec"])
    assert "keepstep-agent" in text
    assert "'claimName': 'shared'" in text
    assert "{'name': 'A', 'value': '1'}" in text


async def test_without_a_kind_it_is_the_first_that_the_cluster_has(there: Cluster, client: KubeClient) -> None:
    made = await Orders(client, OURS).make(making())
    source = there.store.get(STORED[PREFERRED[0]], "bert", "default")
    assert made.job.uid == source["metadata"]["uid"]


async def test_an_order_that_is_carried_out_again_is_the_same_job(there: Cluster, client: KubeClient) -> None:
    first = await Orders(client, OURS).make(making())
    again = await Orders(client, OURS).make(making())
    assert again == first
    assert len(there.writes) == 1


async def test_an_answer_that_was_lost_makes_no_second_job(
    there: Cluster, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = client.create

    async def unheard(*args: Any, **named: Any) -> Any:
        await create(*args, **named)
        raise Busy("POST: no answer")

    with monkeypatch.context() as lost:
        lost.setattr(client, "create", unheard)
        with pytest.raises(Busy):
            await Orders(client, OURS).make(making(kind=JobKind.JOB))
    made = await Orders(client, OURS).make(making(kind=JobKind.JOB))
    (job,) = there.store.list(STORED[JobKind.JOB], "default")
    assert made.job.uid == job["metadata"]["uid"]


async def test_a_name_that_is_taken_is_told(there: Cluster, client: KubeClient) -> None:
    orders = Orders(client, OURS)
    await orders.make(making(kind=JobKind.JOB))
    with pytest.raises(Permanent, match="name: there is a Job default/bert already; choose another name"):
        await orders.make(making("order-2", kind=JobKind.JOB))
    assert len(there.store.list(STORED[JobKind.JOB], "default")) == 1


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"kind": JobKind.TRAINJOB}, "--kind trainjob: its pods stand in a runtime"),
        ({"sources": (DataSource(type=SourceType.HOSTPATH, name="/", path="/host"),)}, "--ds-type hostpath: a folder"),
        ({"sources": (DataSource(type=SourceType.NFS, name="nas", path="/d"),)}, "an nfs source is SERVER:/PATH"),
        ({"env": {"RANK": "3"}}, "--env RANK: keepstep sets RANK"),
        (
            {"command": ("torchrun", "--nproc_per_node=gpu", "t.py"), "resources": {}},
            "as many ranks as there are devices",
        ),
        ({"product": "abacus"}, "--product abacus: is none of gpu"),
        ({"restart": "ExitCode", "kind": JobKind.JOB}, "--restart-policy ExitCode: only a pytorchjob has it"),
        ({"namespace": "No"}, "--namespace No: a name is at most 63 small letters"),
    ],
)
async def test_what_cannot_be_had_is_refused_before_anything_is_written(
    there: Cluster, client: KubeClient, changes: dict[str, Any], because: str
) -> None:
    with pytest.raises(Refused, match=because):
        await Orders(client, OURS).make(making(**changes))
    assert there.writes == []


async def test_what_the_server_refuses_is_told_in_its_words(there: Cluster, client: KubeClient) -> None:
    with pytest.raises(Permanent, match=r"Job bert was not created: .*namespaces"):
        await Orders(client, OURS).make(making(kind=JobKind.JOB, namespace="nowhere"))
