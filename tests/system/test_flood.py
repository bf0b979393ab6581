"""A system outside reports thousands of faults at once, and the bus dies among them: the stack works on, and stops."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from keepstep.contracts.taxonomy import Service

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(300)]

FAULTS, NODES, DEVICES = 10, 300, 3
ANSWERED_S = 60.0
"""The console itself gives up after 30 s, and says what is left."""
AGAIN_S = 60.0
ENDED_S = 60.0


class Up:
    """A ``keepstep up`` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.output = folder / "output"
        command = [sys.executable, "-m", "keepstep.cli", "up", "--data", str(self.data), "--port", "0", "--nodes", "1"]
        with self.output.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def address(self) -> str:
        """Return where the console is, once it is there."""
        until(lambda: "its console at" in self.output.read_text(), 90, "the console")
        found = re.search(r"http://127\.0\.0\.1:\d+", self.output.read_text())
        assert found is not None
        return found.group()

    def server(self) -> int:
        """Return the process of its bus."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (found,) = (int(pid) for pid in children if b"nats-server" in Path(f"/proc/{pid}/cmdline").read_bytes())
        return found

    def log(self) -> list[dict[str, str]]:
        """Return what its services logged."""
        lines = (self.data / "services.log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def until(holds: Callable[[], bool], within_s: float, what: str) -> None:
    """Return once it holds; fails the test if that takes too long."""
    due = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < due, what
        time.sleep(0.1)  # files and processes have no event


@contextmanager
def up_in(folder: Path) -> Iterator[Up]:
    """Yield a running stack and see that nothing of it stays."""
    up = Up(folder)
    try:
        yield up
    finally:
        up.process.kill()
        up.process.wait()


def report(address: str, sender: int) -> int:
    """Post a report of many faults and return the status of the answer."""
    now = int(datetime.now(UTC).timestamp() * 1000)
    hurt = [{"nodeName": f"flooded-{node}", "deviceIds": list(range(DEVICES))} for node in range(NODES)]
    faults = [
        {"faultId": f"f{sender}x{fault:09}", "faultType": "Network", "faultCode": "220001001", "faultTime": now,
         "assertion": "occur", "influence": hurt}
        for fault in range(FAULTS)
    ]  # fmt: skip
    body = {"id": f"report-{sender:04}", "timestamp": now, "version": "1.0", "resource": "CCAE", "faults": faults}
    return httpx.post(f"{address}/api/v1/public-faults", json=body, timeout=ANSWERED_S).status_code


def test_a_flood_of_reports_and_the_death_of_the_bus_in_it_are_lived_through(tmp_path: Path) -> None:
    with up_in(tmp_path) as up, ThreadPoolExecutor(2) as senders:
        address = up.address()
        flood = [senders.submit(report, address, sender) for sender in range(2)]
        assert {one.result() for one in flood} <= {202, 503}, "503 tells what is left, within its time"
        again = [senders.submit(report, address, sender) for sender in range(2)]
        time.sleep(1)  # for the second flood to be under way
        killed_at = datetime.now(UTC).isoformat()
        os.kill(up.server(), signal.SIGKILL)

        def active() -> set[str]:
            return {line["service"] for line in up.log() if line["event"] == "active" and line["time"] > killed_at}

        until(lambda: active() == set(Service), AGAIN_S, "all services active again")
        assert {one.result() for one in again} <= {202, 503}
        ended = [line for line in up.log() if line["event"] == "no longer active" and line["time"] > killed_at]
        assert len(ended) <= 2 * len(Service), [(line["service"], line["because"]) for line in ended]
        up.process.send_signal(signal.SIGTERM)
        until(lambda: up.process.poll() is not None, ENDED_S, "the end")
        assert up.process.returncode == 0, up.output.read_text()
        assert "keepstep is down" in up.output.read_text()
