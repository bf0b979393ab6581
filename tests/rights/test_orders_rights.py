"""Ordered jobs are made where a namespace grants it, with exactly that right, and nowhere else."""

from pathlib import Path

import pytest

from keepstep.adapters.kube_errors import Refused as Forbidden
from keepstep.asking.refused import Refused
from keepstep.contracts.taxonomy import Service
from keepstep.injection.ordering import BY_ORDER
from keepstep.scheduler_adapter.orders import Orders
from tests.kube.cluster import Cluster, cluster
from tests.kube.server import kinds
from tests.kube.shown import STORED
from tests.kube.test_orders import OURS, making
from tests.rights.roles import orders_in
from tests.rights.test_rbac import Grant, needed
from tests.rights.test_rbac_calls import act_as, client_of

ORDERS = {(STORED[kind].group, STORED[kind].plural, "create") for kind in BY_ORDER}


def grant(there: Cluster, namespace: str) -> None:
    there.store.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    orders_in(there.store, namespace)


async def test_the_right_of_a_namespace_makes_every_kind_there_and_is_used_whole(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        used = act_as(there, Service.SCHEDULER_ADAPTER)
        grant(there, "train")
        client = client_of(there, tmp_path)
        for kind in BY_ORDER:
            order = making(f"order-{kind}", name=f"bert-{kind}", kind=kind, namespace="train")
            await Orders(client, OURS).make(order)
        await client.close()
    reads: set[Grant] = {(group, plural, "get") for group, plural, _ in ORDERS}
    assert used == ORDERS | reads
    assert reads <= needed(Service.SCHEDULER_ADAPTER)
    assert [write.refused for write in there.writes if write.refused] == []


async def test_elsewhere_nothing_is_made_and_the_remedy_is_told(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        act_as(there, Service.SCHEDULER_ADAPTER)
        grant(there, "train")
        client = client_of(there, tmp_path)
        with pytest.raises(Refused, match="kubectl apply -n default -k k8s/orders grants it"):
            await Orders(client, OURS).make(making(namespace="default"))
        assert there.writes == []
        with pytest.raises(Forbidden, match=r"cannot create|forbidden"):
            await client.create("default", {"apiVersion": "batch/v1", "kind": "Job"}, why="the test's own question")
        await client.close()
        assert there.store.list(kinds.JOB, "default") == []


@pytest.mark.parametrize("service", [service for service in Service if service is not Service.SCHEDULER_ADAPTER])
async def test_nobody_else_makes_jobs_where_orders_do(tmp_path: Path, service: Service) -> None:
    async with cluster(tmp_path) as there:
        act_as(there, service)
        grant(there, "train")
        client = client_of(there, tmp_path)
        for group, plural, verb in sorted(ORDERS):
            assert not await client.may(verb, group, plural, namespace="train")
        await client.close()
