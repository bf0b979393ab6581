"""What MindCluster writes down becomes, over a real bus, one withheld device and an Event on its node."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from keepstep.adapters.kube_mindcluster import check_code
from keepstep.contracts.events import DeviceIsolated, DeviceReleased, FaultCleared, IncidentClosed
from keepstep.contracts.ids import EventId, NodeName, Pool
from keepstep.contracts.orders import ReleaseNode
from keepstep.detector.app import build as detector
from keepstep.diagnoser.app import build as diagnoser
from keepstep.isolator.app import build as isolator
from keepstep.notifier.app import build as notifier
from keepstep.runtime.client import Client
from keepstep.runtime.settings import Settings
from tests.active import active, said
from tests.kube.cluster import Cluster, cluster, until
from tests.kube.server import kinds

NPU = "Ascend910-3"
NAME = "mindx-dl-deviceinfo-n1"


def info(*faults: dict[str, str]) -> str:
    content = {"DeviceList": {"huawei.com/Ascend910-Fault": json.dumps(faults)}}
    return json.dumps({"DeviceInfo": content, "CheckCode": check_code(content)})


def listed(there: Cluster) -> str:
    found: str = there.store.get(kinds.CONFIG_MAP, NAME, "kube-system")["data"]["ManuallySeparateNPU"]
    return found


@pytest.mark.system
async def test_a_chip_that_mindcluster_gives_up_is_withheld_told_and_given_back(
    nats_url: str, pool: Pool, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for service in ("DETECTOR", "ISOLATOR"):
        monkeypatch.setenv(f"KEEPSTEP_{service}_MINDCLUSTER", "true")
    fault = {"fault_type": "CardUnhealthy", "npu_name": NPU, "fault_code": "80E01801", "fault_level": "SeparateNPU"}
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2"):
            there.node(name)
        there.store.create(kinds.NAMESPACE, {"metadata": {"name": "mindx-dl"}})
        data = {"DeviceInfoCfg": info(fault), "ManuallySeparateNPU": ""}
        there.store.create(kinds.CONFIG_MAP, {"metadata": {"name": NAME}, "data": data}, "kube-system")
        config = f"kubernetes:{there.server.kubeconfig(tmp_path / 'own')}"
        settings = Settings(nats_url=SecretStr(nats_url), pool=pool, cluster=config, instance="one")
        async with active([build(settings) for build in (detector, diagnoser, isolator, notifier)], settings):
            (isolated,) = await said(client, DeviceIsolated, 1)
            assert (isolated.node, isolated.device, listed(there)) == ("n1", NPU, NPU)
            await until(lambda: bool([*there.store.scan(kinds.EVENT)]))
            there.store.patch(kinds.CONFIG_MAP, NAME, {"data": {"DeviceInfoCfg": info()}}, "kube-system")
            await said(client, FaultCleared, 1)
            order = ReleaseNode(id=EventId("free"), time=datetime.now(UTC), pool=pool, node=NodeName("n1"), by="alice")
            await client.say(order)
            await said(client, DeviceReleased, 1)
            (closed,) = await said(client, IncidentClosed, 1)
            await until(lambda: len([*there.store.scan(kinds.EVENT)]) == 6)
        told = {event["reason"] for event in there.store.scan(kinds.EVENT)}
    assert listed(there) == ""
    assert (closed.job, closed.node) == (None, "n1")
    cycle = {"IncidentOpened", "FaultDiagnosed", "DeviceIsolated", "DeviceReleased", "NodeReleased", "IncidentClosed"}
    assert told == cycle
