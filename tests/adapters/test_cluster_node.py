"""What a local node promises beyond the suite: nothing outlives it, agents come back, deaths are proven."""

import signal
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_faults import TaskFault, hurt_task, task_dir
from keepstep.adapters.local_files import NodeFolder
from keepstep.adapters.local_nodes import LocalNodes
from keepstep.adapters.local_task import Commands
from keepstep.adapters.local_wire import CreateTask, Listing, ListTasks, Refused, ask, connect
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import TaskPhase
from keepstep.ports.errors import Permanent
from tests.adapters.cluster_bench import SLEEP, Bench, Mouth, Start, alive, dead
from tests.adapters.cluster_tools import GROUP, LIMIT_S, launches, watching


@pytest.fixture
def bench(start: Start) -> Bench:
    return start()


async def test_a_killed_agent_comes_back_and_training_goes_on(start: Start, mouth: Mouth) -> None:
    bench = start(agent=("sh", "-c", mouth.says()))
    uid = await bench.run(launches())
    first = await mouth.pid()
    await hurt_task(bench.folder, uid, TaskFault.AGENT_KILL)
    assert await mouth.pid() != first
    assert (await bench.task()).phase is TaskPhase.RUNNING


async def test_an_agent_that_dies_at_once_is_started_ever_more_slowly(start: Start, mouth: Mouth) -> None:
    bench = start(agent=("sh", "-c", mouth.says("exit 3")))
    await bench.run(launches())
    for _ in range(3):
        await mouth.pid()
    log = (bench.node.root / "supervisor.log").read_text()
    assert "exited with code 3; starts again in 0.2 s" in log
    assert "exited with code 3; starts again in 0.4 s" in log


async def test_an_agent_ends_with_its_task(start: Start, mouth: Mouth) -> None:
    bench = start(agent=("sh", "-c", mouth.says()))
    uid = await bench.run(launches())
    agent = await mouth.pid()
    await bench.cluster.delete(uid, grace=timedelta(seconds=1))
    await dead(agent)


async def test_a_stopped_supervisor_is_not_ready_and_its_tasks_are_not_gone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepstep.adapters.local_cluster.ANSWER_LIMIT_S", 0.1)
    await bench.run(launches())
    bench.supervisor.send_signal(signal.SIGSTOP)
    (node,) = await bench.cluster.nodes()
    assert not node.ready
    assert (await bench.task()).phase is not TaskPhase.GONE
    bench.supervisor.send_signal(signal.SIGCONT)
    assert (await bench.cluster.nodes())[0].ready


async def test_a_supervisor_itself_refuses_a_second_task(bench: Bench) -> None:
    await bench.run(launches())
    reply = await ask(bench.node.socket, CreateTask(launch=launches()[0]), limit_s=LIMIT_S)
    assert isinstance(reply, Refused)
    assert reply.full
    assert "n1 runs worker-0 of job" in reply.why


async def test_a_garbled_request_is_refused_and_the_next_one_answered(bench: Bench) -> None:
    async with connect(bench.node.socket) as link:
        link._writer.write(b'{"do": "dance"}\n')
        refused = await link.receive()
        assert isinstance(refused, Refused)
        assert "dance" in refused.why
        await link.send(ListTasks())
        assert isinstance(await link.receive(), Listing)


async def test_only_one_supervisor_holds_a_node(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepstep.adapters.local_nodes.START_LIMIT_S", 0.8)
    with pytest.raises(Permanent, match="n1 did not start"):
        LocalNodes(bench.folder).start("n1")
    assert (await bench.cluster.nodes())[0].ready


async def test_the_training_never_gets_the_address_of_the_bus(start: Start, mouth: Mouth) -> None:
    count = f"env | grep -c ^KEEPSTEP_NATS_URL= > {mouth.path}; exec sleep 1000"
    bench = start(launcher=("sh", "-c", count))
    await bench.run(launches())
    assert await mouth.pid() == 0


async def test_the_agent_gets_the_address_of_the_bus(start: Start, mouth: Mouth) -> None:
    count = f"env | grep -c ^KEEPSTEP_NATS_URL= > {mouth.path}; exec sleep 1000"
    bench = start(agent=("sh", "-c", count))
    await bench.run(launches())
    assert await mouth.pid() == 1


async def test_a_task_finds_its_launch_in_its_folder(bench: Bench) -> None:
    job = launches()
    uid = await bench.run(job)
    written = (task_dir(bench.folder, uid) / "task.json").read_bytes()
    assert TaskLaunch.model_validate_json(written) == job[0]


async def test_a_folder_longer_than_a_socket_path_serves(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    nodes = LocalNodes(folder, commands=Commands(launcher=SLEEP, agent=SLEEP))
    nodes.start("n1", GROUP)
    try:
        assert (await LocalCluster(folder).nodes())[0].ready
    finally:
        nodes.lose("n1")


def test_a_node_name_cannot_leave_its_folder(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="node name"):
        LocalNodes(tmp_path).start("../n1")


def test_a_task_uid_cannot_leave_its_folder(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="task uid"):
        NodeFolder(tmp_path / "nodes" / NodeName("n1")).task(TaskUid("../../x"))


async def test_a_watch_hears_of_nodes_that_come_later(bench: Bench) -> None:
    await bench.run(launches())
    late = launches()
    async with watching(bench.cluster) as watcher:
        await watcher.until(bool)
        bench.nodes.start("n2", GROUP)
        try:
            uid = await bench.run(late)
            await watcher.until(lambda heard: uid in {one.ref.uid for one in heard})
        finally:
            bench.nodes.lose("n2")


async def test_a_task_of_the_same_uid_in_another_cluster_is_left_alone(
    bench: Bench, tmp_path: Path, mouth: Mouth
) -> None:
    other = Bench(tmp_path / "other", Commands(launcher=("sh", "-c", mouth.says()), agent=SLEEP))
    try:
        job = launches()
        uid = await bench.run(job)
        await other.run(job)
        launcher = await mouth.pid()
        await bench.cluster.delete(uid, grace=timedelta(0))
        await bench.end_of(uid)
        assert alive(launcher)
    finally:
        other.nodes.lose("n1")


async def test_a_node_folder_that_is_taken_away_ends_no_watch(bench: Bench) -> None:
    gone = await bench.run(launches())
    async with watching(bench.cluster) as watcher:
        await watcher.until(bool)
        bench.nodes.lose("n1")
        bench.node.root.rename(bench.folder / "kept")
        bench.nodes.start("n2", GROUP)
        try:
            uid = await bench.run(launches())
            await watcher.until(lambda heard: uid in {one.ref.uid for one in heard})
            assert [one.name for one in await bench.cluster.nodes()] == ["n2"]
            assert gone not in {one.ref.uid for one in await bench.cluster.tasks()}
        finally:
            bench.nodes.lose("n2")
