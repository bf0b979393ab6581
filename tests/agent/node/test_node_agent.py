"""The agent of a node: what it says of a real pipe and of looks, what it keeps over its restarts, and how it is run."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from keepstep.agent.node.app import FRESH_S, NodeAgent
from keepstep.agent.node.holding import CALM_S, CONFIRM_S
from keepstep.agent.node.kmsg import Record
from keepstep.agent.node.looks import Look
from keepstep.agent.node.settings import NodeSettings, read_settings
from keepstep.contracts.events import DeviceReported, NodeReported
from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.message import Message
from keepstep.runtime.client import Client
from tests.admission.test_service import free_port
from tests.agent.makers import until
from tests.agent.node.test_kernel import XID79

START = datetime(2026, 1, 1, tzinfo=UTC)
UP_S = 5000.0


class Hands:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.at = UP_S

    def now(self) -> datetime:
        return START + timedelta(seconds=self.at)

    def monotonic(self) -> float:
        return self.at


class Ring:
    """A kernel's log."""

    def __init__(self, *records: Record) -> None:
        self.records = list(records)

    def new(self) -> Sequence[Record]:
        taken, self.records = self.records, []
        return taken


class Node:
    """A node whose agent may be started again."""

    def __init__(self, folder: Path, *faults: str) -> None:
        told = {"nats_url": "nats://x", "node": "n1", "state": folder, "faults": faults}
        self.settings = NodeSettings.model_validate(told)
        self.hands, self.ring, self.boot = Hands(), Ring(), "boot-1"
        self.start()

    def start(self) -> None:
        """Start the agent, or start it again after an end that nobody saw coming."""
        self.agent = NodeAgent(self.settings, boot=self.boot, clock=self.hands, log=self.ring)

    def hears(self, *texts: str, ago_s: float = 0.0) -> None:
        self.ring.records += [Record(int((self.hands.at - ago_s) * 1e6) + n, text) for n, text in enumerate(texts)]
        self.agent.read_kernel()

    def looks(self, *, wrong: bool, seconds: float = 0.0) -> None:
        for _ in range(int(seconds) + 1):
            self.agent.judge([Look("DiskFull", wrong, "1 MiB left", about="/ckpt")])
            self.hands.at += 1

    @property
    def said(self) -> list[DeviceReported | NodeReported]:
        """What waits for the bus."""
        lines = (self.settings.state / "outbox.jsonl").read_text().splitlines()
        return [_read(one["type"], one["message"]) for one in map(json.loads, lines)]


def _read(kind: str, message: object) -> DeviceReported | NodeReported:
    model = DeviceReported if kind == "DeviceReported" else NodeReported
    return model.model_validate(message)


def test_a_lost_device_is_told_once_with_the_kernel_s_words_and_its_repetitions_are_counted(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.hears(XID79)
    node.hands.at += 1
    node.hears(*5 * (XID79,))
    node.hands.at += 100
    node.hears(XID79)
    first, second = node.said
    assert isinstance(first, DeviceReported)
    assert (first.node, first.device, first.code, first.text) == ("n1", "7468:d8:00", "Xid 79", XID79)
    assert (first.once, first.hurts, first.job) == (True, True, None)
    assert second.text == f"{XID79} (and 5 more since the last)"
    assert second.id != first.id


def test_an_agent_that_is_started_again_tells_nothing_twice_and_misses_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.hears(XID79)
    old = list(node.agent.outbox._urgent.waiting.values())
    node.start()
    node.ring.records += [Record(int(node.hands.at * 1e6), XID79)]
    node.hears("nvme nvme4: Disabling device after reset failure: -19", ago_s=-2)
    assert [one.device for one in node.said if isinstance(one, DeviceReported)] == ["7468:d8:00", "nvme4"]
    assert len(old) == 1


def test_an_agent_that_remembers_nothing_tells_the_last_minutes_and_not_what_people_have_mended(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.ring.records += [Record(int((node.hands.at - FRESH_S - 100) * 1e6), XID79)]
    node.hears("mce: [Hardware Error]: event severity: fatal", ago_s=60)
    assert [one.condition for one in node.said if isinstance(one, NodeReported)] == ["MachineCheck"]


def test_a_disk_that_stays_full_is_told_and_so_is_its_end_and_neither_is_a_fault(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.looks(wrong=False, seconds=10)
    node.looks(wrong=True, seconds=CONFIRM_S)
    node.looks(wrong=True, seconds=CONFIRM_S)
    node.looks(wrong=False, seconds=CALM_S)
    told = [(one.condition, one.active, one.hurts) for one in node.said if isinstance(one, NodeReported)]
    assert told == [("DiskFull /ckpt", True, False), ("DiskFull /ckpt", False, False)]


def test_a_condition_that_people_name_is_a_fault_and_its_end_outlives_agent_and_machine(tmp_path: Path) -> None:
    node = Node(tmp_path, "DiskFull")
    node.looks(wrong=False)
    node.looks(wrong=True, seconds=CONFIRM_S)
    node.boot, node.hands.at = "boot-2", 3.0
    node.start()
    node.looks(wrong=False, seconds=CALM_S)
    told = [(one.active, one.hurts) for one in node.said if isinstance(one, NodeReported)]
    assert told == [(False, True), (True, True), (False, True)], "the first of which ends what an earlier agent said"
    assert len({one.id for one in node.said}) == 3


def test_a_memory_that_is_garbled_is_forgotten_and_the_agent_goes_on(tmp_path: Path) -> None:
    (tmp_path / "node.json").write_text("{")
    node = Node(tmp_path)
    node.hears(XID79)
    assert len(node.said) == 1


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [("KEEPSTEP_NODE", "", "node"), ("KEEPSTEP_NODE_AGENT_FAULTS", "DiskFull,DiskFul", "DiskFul is none of DiskFull")],
)
def test_a_wrong_setting_is_named(name: str, value: str, told: str) -> None:
    environ = {"KEEPSTEP_NATS_URL": "nats://x", "KEEPSTEP_NODE": "n1", name: value}
    with pytest.raises(ValidationError, match=told):
        read_settings(environ)


def test_paths_and_faults_are_lists() -> None:
    told = {"KEEPSTEP_NODE_AGENT_PATHS": "/:/ckpt", "KEEPSTEP_NODE_AGENT_FAULTS": "DiskFull,ClockSkew"}
    settings = read_settings({"KEEPSTEP_NATS_URL": "nats://x", "KEEPSTEP_NODE": "n1"} | told)
    assert (settings.paths, settings.faults) == (("/", "/ckpt"), ("DiskFull", "ClockSkew"))
    assert settings.node == NodeName("n1")


async def test_the_bus_tells_its_time(client: Client) -> None:
    assert abs(await client.time() - datetime.now(UTC)) < timedelta(seconds=5)


async def test_as_a_process_it_says_what_a_real_pipe_has_and_answers_its_probes(
    tmp_path: Path, nats_url: str, pool: Pool, client: Client
) -> None:
    kmsg, port = tmp_path / "kmsg", free_port()
    os.mkfifo(kmsg)
    environ = os.environ | {
        "KEEPSTEP_NATS_URL": nats_url,
        "KEEPSTEP_POOL": pool,
        "KEEPSTEP_NODE": "n1",
        "KEEPSTEP_HTTP_PORT": str(port),
        "KEEPSTEP_NODE_AGENT_STATE": str(tmp_path / "state"),
        "KEEPSTEP_NODE_AGENT_KMSG": str(kmsg),
    }
    agent = await asyncio.create_subprocess_exec(sys.executable, "-m", "keepstep.agent", "--node", env=environ)
    micros = int(time.monotonic() * 1e6)
    with kmsg.open("r+b", buffering=0) as kernel:
        kernel.write(f"3,1,{micros},-;{XID79}\n".encode())
        said = await _first(client)
        assert isinstance(said, DeviceReported)
        assert (said.node, said.code, said.job) == ("n1", "Xid 79", None)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/readyz")).status_code == 200
            assert (await http.get("/")).status_code == 404
        agent.terminate()
        assert await asyncio.wait_for(agent.wait(), 20) == 128 + signal.SIGTERM
    outbox = tmp_path / "state/outbox.jsonl"
    await until(lambda: outbox.read_text() == "")


async def _first(client: Client) -> Message | None:
    """Return the first message of the pool, within a minute."""
    async with asyncio.timeout(60):
        async for said in client.follow():
            return said.message
    return None
