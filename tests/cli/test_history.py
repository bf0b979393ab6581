"""What an ended ``keepstep up`` or run has left can still be read: from its files, and from a copy of its stream."""

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.adapters.local_files import NodeFolder, NodeRecord
from keepstep.cli import history, main, places
from keepstep.cli.connect import connected
from keepstep.cli.incidents import all_incidents, incidents
from keepstep.contracts.ids import NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.topology import TaskRef
from keepstep.ports.cluster import CordonMark, TaskPhase, TaskStatus
from keepstep.runtime.nats_server import NatsServer
from tests.cli.test_main import finished
from tests.cli.test_view import started
from tests.core.test_timeline import JOB, story


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("KEEPSTEP_NATS_URL", "KEEPSTEP_CLUSTER", "KEEPSTEP_DATA"):
        monkeypatch.delenv(variable, raising=False)


async def up(data: Path, *said: Message) -> places.StackAddress:
    """Do what is left of a ``keepstep up`` in which this was said."""
    server = NatsServer(data / "nats", outlives_machine=False)
    with places.hold(data):
        address = places.StackAddress(pid=os.getpid(), url=await server.start(), pool=Pool("p"), folder=data)
        places.announce(address)
        async with connected(address) as client:
            await client.provision()
            for message in said:
                await client.publish(message)
    await server.stop()
    (data / "services.log").touch()
    return address


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


async def test_what_was_said_in_an_ended_up_is_read_from_a_copy(tmp_path: Path) -> None:
    data = tmp_path / ".keepstep"
    await up(data, started(), *story())
    before = files(data)
    assert [message.id async for message in history.told(data)] == [message.id for message in (started(), *story())]
    (incident,) = await incidents(data, JOB.name)
    assert (incident.category, incident.lost_steps) == ("unknown", 10)
    assert tuple(await all_incidents(data)) == (incident,)
    assert files(data) == before


def test_listings_say_that_the_up_has_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / ".keepstep"
    asyncio.run(up(data, started(), *story()))
    for command in (["incident", "list"], ["events"]):
        assert main.run(command) == 0
        out = capsys.readouterr()
        assert "i1" in out.out or "FaultDetected" in out.out
        assert out.err == f"keepstep: no keepstep runs; this is what keepstep up left in {data}\n"
    assert main.run(["job", "get", JOB.name]) == 0
    assert "abandoned" in capsys.readouterr().out
    assert main.run(["job", "list", "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)
    assert (job["state"], job["because"]) == ("abandoned", "its keepstep ended while it was running")
    assert main.run(["deadletter", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    over = f"job {JOB.name} {JOB.uid} has ended with its keepstep already"
    for order, told in (
        (["job", "stop", JOB.name], f"{over}; there is nothing to stop"),
        (["pause", "--job", JOB.name], f"{over}; there is nothing to pause"),
        (["fault", "inject", "kill", "--job", JOB.name, "--rank", "0"], f"{over}; there is nothing to hurt"),
        (["pause"], "no keepstep runs"),
        (["node", "isolate", "n1", "--reason", "x"], "no keepstep runs"),
    ):
        assert main.run(order) == 1
        assert told in capsys.readouterr().err


def test_the_newest_of_what_was_left_is_told_and_a_job_by_its_name(tmp_path: Path) -> None:
    data = tmp_path / ".keepstep"
    asyncio.run(up(data, started()))
    finished(tmp_path, "other", *story())
    os.utime(data / "services.log", (1, 1))
    assert [type(source) for source in history.sources(data)] == [history.EndedRun, history.EndedUp]
    (places.told_runs(data)[0] / "events.jsonl").touch()
    os.utime(places.told_runs(data)[0] / "events.jsonl", (0, 0))
    assert [type(source) for source in history.sources(data)] == [history.EndedUp, history.EndedRun]


def test_a_task_that_was_replaced_is_not_counted_where_it_was_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job of one task that had been moved from n1 to n2 was listed with two."""
    finished(tmp_path)
    (run,) = places.told_runs(tmp_path / ".keepstep")
    for second, (name, uid) in enumerate((("n1", "t-old"), ("n2", "t-new"))):
        folder = NodeFolder(run / "cluster" / "nodes" / name)
        folder.task(TaskUid(uid)).mkdir(parents=True)
        folder.change(lambda _, name=name: NodeRecord(name=NodeName(name)))  # type: ignore[misc]  # mypy infers no type for a lambda with a default
        ref = TaskRef(name="worker-0", uid=TaskUid(uid), index=0)
        folder.keep(
            TaskStatus(JOB.uid, ref, TaskPhase.GONE, NodeName(name), at=datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))
        )
    assert main.run(["node", "list", "--json"]) == 0
    assert [node["tasks"] for node in json.loads(capsys.readouterr().out)] == [[], ["t-new"]]


def test_nodes_of_a_run_that_ended_are_listed_as_it_left_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished(tmp_path)
    (run,) = places.told_runs(tmp_path / ".keepstep")
    mark = CordonMark(owner="keepstep", reason="node lost", at=datetime(2026, 1, 1, tzinfo=UTC))
    for name, cordon in (("n1", None), ("n2", mark)):
        folder = NodeFolder(run / "cluster" / "nodes" / name)
        folder.root.mkdir(parents=True)
        folder.change(lambda _, name=name, cordon=cordon: NodeRecord(name=NodeName(name), mark=cordon))  # type: ignore[misc]  # mypy infers no type for a lambda with a default
    assert main.run(["node", "list", "--json"]) == 0
    out = capsys.readouterr()
    assert [(node["name"], node["state"], node["tasks"]) for node in json.loads(out.out)] == [
        ("n1", "ended", []),
        ("n2", "isolated", []),
    ]
    assert out.err == f"keepstep: run {run.name} has ended; this is how it left its nodes\n"
    assert main.run(["node", "list"]) == 0
    assert "keepstep: node lost" in capsys.readouterr().out


@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe\n", bytes(4096) + b"\n", b"Unheard\t{}\n", b"JobStarted\t{\n", b"no tab\n"]
)
def test_a_garbled_line_of_one_run_hides_nothing_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], garbage: bytes
) -> None:
    """One line, as a crash of the machine leaves it, ended each listing of all runs with a traceback."""
    finished(tmp_path)
    (path,) = tmp_path.glob(".keepstep/runs/*/events.jsonl")
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(garbage + first + b"\n" + garbage + rest)
    assert main.run(["events", "--json"]) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == len(story())
    assert printed.err == f"keepstep: {path}: left out 2 lines that this version cannot read\n"
