"""The embedded server: found, started, restarted, and never left behind."""

import asyncio
import os
import shutil
import signal
import stat
import sys
import sysconfig
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Permanent, Transient
from keepstep.runtime import nats_health
from keepstep.runtime.client import Client
from keepstep.runtime.nats_health import Complaints
from keepstep.runtime.nats_server import MAX_STORE, NatsServer, find_binary, version_of
from tests.runtime.stages import report, until

PARENT = """
import asyncio, sys
from pathlib import Path
from keepstep.runtime.nats_server import NatsServer

async def serve():
    server = NatsServer(Path(sys.argv[1]))
    await server.start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


def fake_binary(folder: Path, said: str) -> Path:
    binary = folder / "nats-server"
    binary.write_text(f"#!/bin/sh\necho '{said}'\n")
    binary.chmod(0o755)
    return binary


@pytest.mark.parametrize(
    ("said", "version"),
    [("nats-server: v2.9.10", (2, 9, 10)), ("nats-server: v2.12.0-preview.1", (2, 12, 0)), ("what?", (0,))],
)
def test_a_binary_tells_its_version(tmp_path: Path, said: str, version: tuple[int, ...]) -> None:
    assert version_of(fake_binary(tmp_path, said)) == version


def test_an_old_server_on_the_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_binary(tmp_path, "nats-server: v2.10.9")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_binary() != old
    fake_binary(tmp_path, "nats-server: v2.11.0")
    assert find_binary() == old


def test_no_server_at_all_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    with pytest.raises(Permanent, match="KEEPSTEP_NATS_URL"):
        find_binary()


async def test_a_server_that_does_not_start_is_a_transient_error(tmp_path: Path) -> None:
    broken = fake_binary(tmp_path, "no")
    with pytest.raises(Transient, match=r"nats\.log"):
        await NatsServer(tmp_path / "data", binary=broken).start()


async def test_the_url_and_the_data_survive_the_process(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    url = await server.start()
    assert "nats://" not in f"{url} {url!r}", "the token is not printed"
    assert stat.S_IMODE((tmp_path / "nats.conf").stat().st_mode) == 0o600
    client = await Client.open(url.get_secret_value(), Pool("p"), name="test")
    await client.provision()
    killed = server.pid
    os.kill(killed, signal.SIGKILL)
    await until(lambda: server.pid not in (0, killed))
    assert server.url == url
    await until(lambda: client.link.recoveries == 1)
    assert await client.last_sequence() == 0
    await client.close()
    await server.stop()
    assert server.pid == 0


@pytest.mark.parametrize("outlives_machine", [True, False])
async def test_what_a_killed_server_acknowledged_is_still_there(tmp_path: Path, outlives_machine: bool) -> None:
    server = NatsServer(tmp_path, outlives_machine=outlives_machine)
    url = await server.start()
    client = await Client.open(url.get_secret_value(), Pool("p"), name="test")
    await client.provision()
    for number in range(200):
        await client.publish(report(Pool("p"), str(number)))
    killed = server.pid
    os.kill(killed, signal.SIGKILL)
    await until(lambda: server.pid not in (0, killed))
    await until(lambda: client.link.recoveries == 1)
    assert await client.last_sequence() == 200
    await client.close()
    await server.stop()


def test_a_binary_that_does_not_run_is_no_server(tmp_path: Path) -> None:
    broken = tmp_path / "nats-server"
    broken.write_bytes(b"\x7fELF no more")
    broken.chmod(0o755)
    assert version_of(broken) == (0,)


async def test_a_folder_of_any_name_will_do(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / 'dätä "two" $x {y} \\z')
    await server.start()
    await server.stop()


async def test_a_disk_without_a_gigabyte_left_will_do(tmp_path: Path) -> None:
    """The server's own limit, three quarters of what is free, refuses a stream that may grow to one."""
    server = NatsServer(tmp_path)
    await server.start()
    assert f"max_file_store: {MAX_STORE}\n" in (tmp_path / "nats.conf").read_text()
    await server.stop()


async def test_a_server_that_stopped_writing_is_started_again_once_there_is_room(tmp_path: Path) -> None:
    """JetStream gives a stream up for good at the first full disk, also when there is room again."""
    server = NatsServer(tmp_path)
    await server.start()
    stuck = server.pid
    with (tmp_path / "nats.log").open("a") as log:
        log.write("[ERR] JetStream stream '$G > s' critical write error: write x: no space left on device\n")
    await until(lambda: server.pid not in (0, stuck))
    await server.stop()
    assert server.pid == 0, "a stop is not taken for an end"


@pytest.mark.parametrize(
    "words", ["critical write error", "failed to store a msg on stream", "out of File resources, will be DISABLED"]
)
def test_a_full_disk_is_waited_out_and_complained_of_once(tmp_path: Path, words: str) -> None:
    log = tmp_path / "nats.log"
    log.write_text("critical write error of an earlier life\n")
    complaints = Complaints(log)
    assert not complaints.stuck()
    (tmp_path / "room").mkdir()
    with log.open("a") as file:
        file.write(f"[ERR] {words}\n")
    assert not complaints.stuck(), "no room yet"
    (tmp_path / "room").rmdir()
    assert complaints.stuck()
    assert not complaints.stuck()


async def test_a_server_that_hangs_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took connections and said nothing: a run went on for ever, and nobody decided anything."""
    monkeypatch.setattr(nats_health, "PATIENCE", 2)
    server = NatsServer(tmp_path)
    url = await server.start()
    hung = server.pid
    os.kill(hung, signal.SIGSTOP)
    await until(lambda: server.pid not in (0, hung), within=30)
    assert server.url == url
    await server.stop()


async def test_a_server_that_is_slow_to_greet_is_waited_out(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    there, silence = server.url.get_secret_value().rpartition(":")[2], nats_health.Silence()
    os.kill(server.pid, signal.SIGSTOP)
    assert not await nats_health.greets(int(there), within_s=0.1)
    assert not await silence.lasts(int(there))
    os.kill(server.pid, signal.SIGCONT)
    assert [await silence.lasts(int(there)) for _ in range(nats_health.PATIENCE + 1)] == [False] * (
        nats_health.PATIENCE + 1
    )
    await server.stop()


async def test_a_folder_that_was_deleted_keeps_no_server_from_coming_back(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "data")
    await server.start()
    killed = server.pid
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "data").write_text("in the way")
    os.kill(killed, signal.SIGKILL)
    await until(lambda: server.pid == 0)
    (tmp_path / "data").unlink()
    await until(lambda: server.pid not in (0, killed))
    await server.stop()


async def test_the_token_is_asked_for(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    url = (await server.start()).get_secret_value()
    address = url.partition("@")[2]
    with pytest.raises(Transient, match="KEEPSTEP_NATS_URL"):
        await Client.open(f"nats://{address}", Pool("p"), name="thief", within=timedelta(seconds=0.3))
    await server.stop()


async def test_the_server_dies_with_its_parent(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await asyncio.wait_for(parent.stdout.readline(), 20))
    parent.kill()
    await parent.wait()

    def gone() -> bool:
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"

    await until(gone)
