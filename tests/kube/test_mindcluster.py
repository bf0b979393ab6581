"""MindCluster's ConfigMaps as troubles: a row per level and kind of fault, and what cannot be trusted is refused."""

import hashlib
import json
from typing import Any

import pytest

from keepstep.adapters.kube_mindcluster import FAULTS, NPUS, check_code, shown_of
from keepstep.ports.troubles import Shown, Trouble

NPU = "Ascend910-3"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": "u1", "resourceVersion": "7"}, "data": data}


def devices(*faults: dict[str, Any], key: str = "huawei.com/Ascend910-Fault", **data: str) -> dict[str, Any]:
    """Return a device plugin's ConfigMap; its inner lists are text, as the plugin writes them."""
    info = {"DeviceList": {key.removesuffix("-Fault"): "Ascend910-0", key: json.dumps(faults)}, "UpdateTime": 1}
    whole = json.dumps({"DeviceInfo": info, "SuperPodID": -2, "ServerIndex": -2, "CheckCode": check_code(info)})
    return config_map("mindx-dl-deviceinfo-n1", DeviceInfoCfg=whole, **data)


def fault(code: str = "80E01801", level: str = "SeparateNPU", **fields: Any) -> dict[str, Any]:
    base = {"fault_type": "CardUnhealthy", "npu_name": NPU, "fault_level": level, "fault_code": code}
    return base | fields


def host(*faults: dict[str, Any]) -> dict[str, Any]:
    info = {"FaultDevList": list(faults), "NodeStatus": "UnHealthy"}
    whole = json.dumps({"NodeInfo": info, "CheckCode": check_code(info)})
    return config_map("mindx-dl-nodeinfo-n1", NodeInfo=whole)


def switches(*faults: dict[str, Any], times: dict[str, Any] | None = None) -> dict[str, Any]:
    said = {"FaultCode": list(faults), "FaultLevel": "SeparateFault", "FaultTimeAndLevelMap": times or {}}
    return devices(SwitchInfoCfg=json.dumps(said))


def shown(source: dict[str, Any]) -> Shown:
    found = shown_of(source).shown
    assert found is not None
    return found


def test_a_chip_s_fault_names_chip_code_level_and_since_when() -> None:
    times = {"80E01801": {"fault_time": 1767225600000, "fault_level": "SeparateNPU"}}
    found = shown(devices(fault(fault_time_and_level_map=times)))
    assert found == Shown(
        place="u1",
        version="7",
        node=found.node,
        source="mindcluster",
        speaks_of=(*NPUS, "mindcluster switch "),
        troubles=(
            Trouble(
                "80E01801",
                NPU,
                level="SeparateNPU",
                text="MindCluster level SeparateNPU, CardUnhealthy",
                since="1767225600000",
            ),
        ),
    )
    assert found.node == "n1"


LEVELS = {
    "NotHandleFault": False,
    "RestartRequest": True,
    "RestartBusiness": True,
    "FreeRestartNPU": True,
    "RestartNPU": True,
    "SeparateNPU": True,
    "ManuallySeparateNPU": True,
    "PreSeparateNPU": False,
    "SubHealthFault": False,
    "": False,
}


@pytest.mark.parametrize(("level", "told"), LEVELS.items())
def test_only_levels_that_hurt_a_training_that_runs_are_troubles(level: str, told: bool) -> None:
    assert bool(shown(devices(fault(level=level))).troubles) is told


@pytest.mark.parametrize(("level", "told"), [("NotHandleFault", 0), ("PreSeparateFault", 0), ("SeparateFault", 1)])
def test_a_host_s_faults_are_told_by_the_same_measure(level: str, told: int) -> None:
    found = shown(host({"DeviceType": "CPU", "DeviceId": 0, "FaultCode": ["2C000031"], "FaultLevel": level}))
    assert [one.code for one in found.troubles] == ["mindcluster host CPU 0 2C000031"] * told
    assert found.node == "n1"


def test_codes_of_one_chip_are_troubles_of_their_own_levels() -> None:
    times = {"80E01801": {"fault_level": "RestartBusiness"}, "80C98009": {"fault_level": "NotHandleFault"}}
    found = shown(devices(fault(code="80E01801 , 80C98009", level="RestartBusiness", fault_time_and_level_map=times)))
    assert [(one.code, one.level) for one in found.troubles] == [("80E01801", "RestartBusiness")]


def test_a_fault_of_a_chip_s_network_hurts_nobody_by_itself() -> None:
    assert not shown(devices(fault(fault_type="CardNetworkUnhealthy"))).troubles


def test_a_device_that_keepstep_withholds_is_no_new_trouble() -> None:
    """The device plugin fills in a code for what it finds on the list: each isolation would bring the next fault."""
    assert not shown(devices(fault(code="AutofillFaultCode", level="ManuallySeparateNPU"))).troubles


def test_newer_products_name_their_chips_otherwise() -> None:
    found = shown(devices(fault(npu_name="npu-3"), key="huawei.com/npu-Fault"))
    assert [one.device for one in found.troubles] == ["npu-3"]


def test_a_switch_s_fault_is_the_node_s_until_it_is_recovered() -> None:
    code = {"AssembledFaultCode": "[0x00f103b0,155907,na,na]", "SwitchChipId": 1, "SwitchPortId": 2}
    (found,) = shown(switches(code | {"Assertion": 1})).troubles
    assert (found.device, found.level) == (None, "SeparateFault")
    assert found.code == "mindcluster switch [0x00f103b0,155907,na,na] chip 1 port 2"
    assert not shown(switches(code | {"Assertion": 0})).troubles
    times = {"[0x00f103b0,155907,na,na]_1_2": {"fault_time": 5, "fault_level": "NotHandleFault"}}
    assert not shown(switches(code, times=times)).troubles


def test_the_check_code_is_what_go_computes() -> None:
    """Compact, in the order of the text, with HTML's characters escaped: encoding/json's defaults."""
    as_go_writes = r'{"b":"\u003ca\u0026b\u003e","a":["é",1]}'
    assert check_code({"b": "<a&b>", "a": ["é", 1]}) == hashlib.sha256(as_go_writes.encode()).hexdigest()


GARBLED = {
    "no JSON": config_map("mindx-dl-deviceinfo-n1", DeviceInfoCfg="{"),
    "no object": config_map("mindx-dl-deviceinfo-n1", DeviceInfoCfg="[]"),
    "no key": config_map("mindx-dl-deviceinfo-n1"),
    "no check code": config_map("mindx-dl-deviceinfo-n1", DeviceInfoCfg='{"DeviceInfo":{"DeviceList":{}}}'),
    "list that is none": devices(),
    "switches that are none": switches() | {"metadata": {"name": "mindx-dl-deviceinfo-n1"}},
}
_LIST = {"DeviceList": {"huawei.com/Ascend910-Fault": "{"}}
GARBLED["list that is none"]["data"]["DeviceInfoCfg"] = json.dumps(
    {"DeviceInfo": _LIST, "CheckCode": check_code(_LIST)}
)
GARBLED["switches that are none"]["data"]["SwitchInfoCfg"] = '{"FaultCode": "{"}'


@pytest.mark.parametrize("source", GARBLED.values(), ids=GARBLED)
def test_what_cannot_be_trusted_is_refused_with_the_reason(source: dict[str, Any]) -> None:
    found = shown(source)
    assert found.refused.startswith("ConfigMap mindx-dl-deviceinfo-n1 is not taken: ")
    assert not found.troubles


def test_a_content_that_somebody_edited_does_not_fit_its_check_code() -> None:
    source = devices(fault())
    source["data"]["DeviceInfoCfg"] = source["data"]["DeviceInfoCfg"].replace(NPU, "Ascend910-4")
    assert shown(source).refused.endswith("the check code of DeviceInfoCfg does not fit its content")


def test_other_config_maps_show_nothing() -> None:
    assert shown_of(config_map("coredns", Corefile=".:53")).shown is None


def test_every_level_that_is_told_is_told_in_one_place() -> None:
    assert {level for level, told in LEVELS.items() if told} < FAULTS
