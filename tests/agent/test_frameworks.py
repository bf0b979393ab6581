"""What ranks of each framework are told, and the rank tables of Ascend: whole or not at all, and stable."""

import json
from pathlib import Path
from typing import Any

import pytest

from keepstep.agent.devices import VARIABLE, devices_of
from keepstep.agent.environment import rank_environment
from keepstep.agent.rank_table import rank_table
from keepstep.contracts.orders import Peer
from keepstep.contracts.taxonomy import Framework
from keepstep.contracts.topology import Device
from tests.agent.makers import entry, head, launch

TASK = Path("/t")


def peer(number: int, devices: int = 2) -> Peer:
    given = tuple(
        Device(id=str(slot), address=f"192.168.{number}.{slot}", super_id=str(100 * number + slot))
        for slot in range(devices)
    )
    return Peer(address=f"10.0.0.{number}", port=5000 + number, devices=given)


PEERS = (peer(1), peer(2))
VERSIONS = pytest.mark.parametrize("version", ["1.0", "1.2", "2.0"])


def table(version: str, peers: tuple[Peer, ...] = PEERS, nproc: int = 2) -> Any:
    return rank_table(version, peers, nproc)


def environment(framework: Framework, **fields: Any) -> dict[str, str]:
    given = launch(framework=framework, **fields)
    return rank_environment(given, head(2, peers=PEERS), entry(2), local_rank=1, task_dir=TASK)


def test_a_tensorflow_worker_is_told_of_all_workers_and_which_it_is() -> None:
    told = json.loads(environment(Framework.TENSORFLOW)["TF_CONFIG"])
    assert told == {
        "cluster": {"worker": ["10.0.0.1:5001", "10.0.0.2:5002"]},
        "task": {"type": "worker", "index": 1},
    }


def test_a_mindspore_rank_is_told_its_device_and_where_the_table_is() -> None:
    found = environment(Framework.MINDSPORE)
    names = ("RANK_ID", "RANK_SIZE", "DEVICE_ID", "RANK_TABLE_FILE")
    assert [found[name] for name in names] == ["3", "4", "1", "/t/rank_table.json"]
    assert (found["RANK"], found["MASTER_ADDR"]) == ("3", "127.0.0.1")


def test_a_pytorch_rank_is_told_nothing_more() -> None:
    assert not {"TF_CONFIG", "RANK_ID", "RANK_TABLE_FILE"} & environment(Framework.PYTORCH).keys()


def test_a_table_of_version_1_0_lists_servers_with_their_devices() -> None:
    assert table("1.0") == {
        "version": "1.0",
        "status": "completed",
        "server_count": "2",
        "server_list": [
            {
                "server_id": "10.0.0.1",
                "device": [
                    {"device_id": "0", "device_ip": "192.168.1.0", "rank_id": "0"},
                    {"device_id": "1", "device_ip": "192.168.1.1", "rank_id": "1"},
                ],
            },
            {
                "server_id": "10.0.0.2",
                "device": [
                    {"device_id": "0", "device_ip": "192.168.2.0", "rank_id": "2"},
                    {"device_id": "1", "device_ip": "192.168.2.1", "rank_id": "3"},
                ],
            },
        ],
    }


def test_a_table_of_version_1_2_adds_super_devices_and_their_pod() -> None:
    found = table("1.2")
    assert [one["super_device_id"] for one in found["server_list"][1]["device"]] == ["200", "201"]
    servers = [{"server_id": "10.0.0.1"}, {"server_id": "10.0.0.2"}]
    assert found["super_pod_list"] == [{"super_pod_id": "0", "server_list": servers}]


def test_a_table_of_version_2_0_lists_ranks() -> None:
    found = table("2.0")
    assert found["rank_count"] == "4"
    assert [(one["rank_id"], one["local_id"], one["device_id"]) for one in found["rank_list"]] == [
        (0, 0, 0),
        (1, 1, 1),
        (2, 0, 0),
        (3, 1, 1),
    ]


@VERSIONS
def test_a_table_is_completed_only_when_every_rank_has_its_device(version: str) -> None:
    assert table(version)["status"] == "completed"
    assert table(version, (peer(1), peer(2, devices=1)))["status"] == "initializing"
    assert table(version, (peer(1), peer(2, devices=0)))["status"] == "initializing"
    assert table(version, ())["status"] == "initializing"


def entries(found: Any) -> dict[str, Any]:
    """Return each rank's entry, by rank."""
    if "rank_list" in found:
        return {str(one["rank_id"]): one for one in found["rank_list"]}
    return {one["rank_id"]: (server["server_id"], one) for server in found["server_list"] for one in server["device"]}


@VERSIONS
def test_a_replaced_task_changes_its_own_entries_alone_and_keeps_its_ranks(version: str) -> None:
    before, after = entries(table(version)), entries(table(version, (peer(1), peer(9))))
    assert before.keys() == after.keys()
    assert {rank for rank in before if before[rank] != after[rank]} == {"2", "3"}


def test_a_table_of_a_version_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"known are 1\.0, 1\.2 and 2\.0"):
        table("3.0")


def test_devices_are_read_from_the_device_plugins_note_in_their_order() -> None:
    devices = [{"device_id": name, "device_ip": f"ip-{name}"} for name in ("10", "2", "0")]
    note = json.dumps({"pod_name": "p", "server_id": "10.0.0.1", "devices": devices})
    assert [(one.id, one.address) for one in devices_of({VARIABLE: note})] == [
        ("0", "ip-0"),
        ("2", "ip-2"),
        ("10", "ip-10"),
    ]


@pytest.mark.parametrize("environ", [{}, {VARIABLE: ""}])
def test_where_nothing_is_noted_there_are_no_devices(environ: dict[str, str]) -> None:
    assert devices_of(environ) == ()


@pytest.mark.parametrize("note", ["{", "[]", "{}", '{"devices": 3}', '{"devices": [1]}', '{"devices": [{}]}'])
def test_a_garbled_note_is_said_with_its_variable(note: str) -> None:
    with pytest.raises(ValueError, match=f"{VARIABLE} is no list of devices"):
        devices_of({VARIABLE: note})
