"""Files of a local node that a crash or a hand has emptied or garbled keep nothing down."""

import errno
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.adapters.local_children import Children
from keepstep.adapters.local_faults import TaskFault, hurt_task
from keepstep.adapters.local_files import NodeFolder, NodeRecord
from keepstep.adapters.local_supervisor import Supervisor
from keepstep.adapters.local_task import Commands
from keepstep.adapters.local_wire import Listing, ListTasks, ask
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import CordonMark, TaskPhase, TaskStatus
from tests.adapters.cluster_bench import Bench, Mouth
from tests.adapters.cluster_tools import GROUP, LIMIT_S, launches

MARK = CordonMark(owner="keepstep", reason="3 Xid 79", at=datetime(2026, 1, 1, tzinfo=UTC))
RECORD = NodeRecord(name=NodeName("n1"), group="blue", slots=3, mark=MARK)
GARBAGE = [b"", b'{"name": "n', b"\xff\x00", b'{"name": "n1", "slots": 0}']


@pytest.fixture
def mouth(tmp_path: Path) -> Iterator[Mouth]:
    mouth = Mouth(tmp_path / "mouth")
    yield mouth
    mouth.close()


@pytest.fixture
def bench(tmp_path: Path, mouth: Mouth) -> Iterator[Bench]:
    agent = ("sh", "-c", mouth.says())
    bench = Bench(tmp_path / "cluster", Commands(launcher=("sleep", "1000"), agent=agent, agent_grace_s=0.02))
    yield bench
    bench.nodes.lose("n1")


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_garbled_record_of_a_node_forgets_neither_cordon_nor_group(tmp_path: Path, garbage: bytes) -> None:
    folder = NodeFolder(tmp_path / "n1")
    folder.root.mkdir()
    folder.change(lambda _: RECORD)
    (folder.root / "node.json").write_bytes(garbage)
    assert folder.record() == RECORD
    assert folder.change(lambda old: old or NodeRecord(name=folder.name)) == RECORD
    assert NodeRecord.model_validate_json((folder.root / "node.json").read_bytes()) == RECORD


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_node_whose_record_and_copy_are_garbled_is_still_a_node(tmp_path: Path, garbage: bytes) -> None:
    folder = NodeFolder(tmp_path / "n1")
    folder.root.mkdir()
    folder.change(lambda _: RECORD)
    for path in folder.root.glob("node*.json"):
        path.write_bytes(garbage)
    assert folder.record() == NodeRecord(name=NodeName("n1"))
    (folder.root / "node.json").unlink()
    assert folder.record() is None


async def test_a_lost_node_with_emptied_files_comes_back(bench: Bench, mouth: Mouth) -> None:
    uid = await bench.run(launches())
    await mouth.pid()
    for path in (bench.node.root / "node.json", bench.node.task(uid) / "status.json"):
        os.truncate(path, 0)
    assert [node.group for node in await bench.cluster.nodes()] == [GROUP]
    bench.nodes.lose("n1")
    assert await bench.cluster.tasks() == (), "what was garbled is missing and keeps nobody from looking"
    bench.nodes.revive("n1")
    assert [(node.ready, node.group) for node in await bench.cluster.nodes()] == [(True, GROUP)]


@pytest.mark.parametrize("harm", [lambda path: os.truncate(path, 0), Path.unlink])
async def test_an_agent_finds_its_task_again_whatever_befell_the_file(bench: Bench, mouth: Mouth, harm: object) -> None:
    uid = await bench.run(launches())
    await mouth.pid()
    task = bench.node.task(uid) / "task.json"
    assert callable(harm)
    harm(task)
    await hurt_task(bench.folder, uid, TaskFault.AGENT_KILL)
    await mouth.pid()
    assert TaskLaunch.read(task.read_bytes()).task.uid == uid


async def test_the_loss_of_a_node_is_told_although_the_disk_is_full(
    bench: Bench, mouth: Mouth, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await bench.run(launches())
    await mouth.pid()
    monkeypatch.setattr(NodeFolder, "keep", no_room)
    bench.nodes.lose("n1")
    end = await bench.end_of(uid)
    assert (end.by, end.proven) == (LossCause.NODE_LOST, True)


async def test_a_node_comes_back_although_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = NodeFolder(tmp_path / "n1")
    (launch,) = launches()
    folder.prepare(launch)
    folder.keep(TaskStatus(launch.job.uid, launch.task, TaskPhase.RUNNING, node=folder.name))
    monkeypatch.setattr(NodeFolder, "keep", no_room)
    supervisor = Supervisor(folder, slots=1, commands=Commands(), children=Unwatched())
    await supervisor.open()
    reply = await ask(folder.socket, ListTasks(), limit_s=LIMIT_S)
    assert isinstance(reply, Listing)
    assert [(task.phase, task.proven) for task in reply.tasks] == [(TaskPhase.GONE, True)]
    await supervisor.close(grace_s=0)


class Unwatched(Children):
    """No children, so that the process of the tests keeps its own."""

    def watch(self) -> None:
        """Adopt nobody."""


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_lock_without_a_pid_names_no_supervisor(bench: Bench) -> None:
    pid = bench.node.supervisor()
    assert pid == bench.supervisor.pid
    for text in (b"", b"garbage", b"-1", b"\xff\xfe", "²".encode()):
        bench.node.lock.write_bytes(text)
        assert bench.node.supervisor() is None
    bench.node.lock.write_text(str(pid))
