"""What a local node promises beyond the suite: nothing outlives it, agents come back, deaths are proven."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
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
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import TaskPhase
from keepstep.ports.errors import Permanent
from tests.adapters.cluster_bench import Bench, Mouth, alive, dead
from tests.adapters.cluster_suite import GROUP, LIMIT_S, NOWHERE, launches, watching

SLEEP = ("sleep", "1000")


Start = Callable[..., Bench]


@pytest.fixture
def mouth(tmp_path: Path) -> Iterator[Mouth]:
    mouth = Mouth(tmp_path / "mouth")
    yield mouth
    mouth.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    benches: list[Bench] = []

    def start(launcher: tuple[str, ...] = SLEEP, agent: tuple[str, ...] = SLEEP) -> Bench:
        commands = Commands(launcher=launcher, agent=agent, agent_grace_s=0.02)
        benches.append(Bench(tmp_path / "cluster", commands))
        return benches[-1]

    yield start
    for bench in benches:
        bench.nodes.lose("n1")


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


async def test_a_child_in_a_session_of_its_own_is_gone_before_its_task_is(start: Start, mouth: Mouth) -> None:
    child = f"trap '' TERM; {mouth.says('while :; do sleep 1000; done')}"
    bench = start(launcher=("sh", "-c", 'setsid sh -c "$0" & exec sleep 1000', child))
    uid = await bench.run(launches())
    stray = await mouth.pid()
    await hurt_task(bench.folder, uid, TaskFault.LAUNCHER_KILL)
    end = await bench.end_of(uid)
    assert not alive(stray)
    assert (end.by, end.text) == (LossCause.LAUNCHER_EXITED, "launcher was killed by SIGKILL")


async def test_a_child_that_wiped_its_environment_is_found_too(start: Start, mouth: Mouth) -> None:
    bench = start(launcher=("sh", "-c", 'env -i /usr/bin/setsid /bin/sh -c "$0" & exec sleep 1000', mouth.says()))
    uid = await bench.run(launches())
    stray = await mouth.pid()
    await hurt_task(bench.folder, uid, TaskFault.LAUNCHER_KILL)
    await bench.end_of(uid)
    assert not alive(stray)


async def test_a_launcher_that_ignores_sigterm_is_killed_after_the_first_grace(start: Start, mouth: Mouth) -> None:
    bench = start(launcher=("sh", "-c", f"trap '' TERM; {mouth.says('while :; do sleep 1000; done')}"))
    uid = await bench.run(launches())
    launcher = await mouth.pid()
    await bench.cluster.delete(uid, grace=timedelta(seconds=0.2))
    await bench.cluster.delete(uid, grace=timedelta(seconds=1000))
    end = await bench.end_of(uid)
    assert not alive(launcher)
    assert end.by is LossCause.DELETED


async def test_a_launcher_that_ends_in_order_was_not_taken_away(start: Start) -> None:
    bench = start(launcher=("true",))
    end = await bench.end_of(await bench.run(launches()))
    assert (end.by, end.text) == (None, "launcher exited with code 0")


async def test_a_failed_launcher_is_quoted(start: Start) -> None:
    bench = start(launcher=("sh", "-c", "echo 'task.json: cwd /nowhere does not exist' >&2; exit 2"))
    end = await bench.end_of(await bench.run(launches()))
    assert end.by is LossCause.LAUNCHER_EXITED
    assert end.text == "launcher exited with code 2: task.json: cwd /nowhere does not exist"


async def test_a_launcher_that_cannot_start_is_said(start: Start) -> None:
    bench = start(launcher=("/nowhere/launch",))
    end = await bench.end_of(await bench.run(launches()))
    assert end.by is LossCause.UNKNOWN
    assert "launcher does not start" in end.text
    assert "/nowhere/launch" in end.text


async def test_an_eviction_is_told_from_a_deletion(start: Start) -> None:
    bench = start()
    uid = await bench.run(launches())
    await hurt_task(bench.folder, uid, TaskFault.EVICT)
    assert (await bench.end_of(uid)).by is LossCause.EVICTED


async def test_a_killed_supervisor_leaves_no_process(start: Start, mouth: Mouth) -> None:
    launcher = ("sh", "-c", f'setsid sh -c "$0" & {mouth.says()}', mouth.says())
    bench = start(launcher=launcher, agent=("sh", "-c", mouth.says()))
    uid = await bench.run(launches())
    pids = [await mouth.pid(), await mouth.pid(), await mouth.pid()]
    bench.supervisor.kill()
    end = await bench.end_of(uid)
    assert end.by is LossCause.NODE_LOST
    assert not any(alive(pid) for pid in pids)


async def test_what_a_lost_node_left_behind_is_gone_before_it_is_back(start: Start, mouth: Mouth) -> None:
    bench = start(launcher=("sh", "-c", 'setsid sh -c "$0" & exec sleep 1000', mouth.says()))
    await bench.run(launches())
    stray = await mouth.pid()
    bench.supervisor.kill()
    bench.supervisor.wait()
    bench.nodes.revive("n1")
    assert not alive(stray)
    assert ((await bench.task()).by, (await bench.task()).proven) == (LossCause.NODE_LOST, True)


async def test_a_node_dies_with_the_command_that_started_it_strays_included(tmp_path: Path, mouth: Mouth) -> None:
    commands = Commands(launcher=("sh", "-c", 'setsid sh -c "$0" & exec sleep 1000', mouth.says()), agent=SLEEP)
    script = (
        "import sys, pathlib; from keepstep.adapters.local_nodes import LocalNodes, Commands\n"
        "commands = Commands.model_validate_json(sys.argv[2])\n"
        "print(LocalNodes(pathlib.Path(sys.argv[1]), commands=commands).start('n1', 'g').pid, flush=True)\n"
        "sys.stdin.read()"
    )
    command = subprocess.Popen(  # noqa: ASYNC220 - what starts nodes is a process of its own
        [sys.executable, "-c", script, str(tmp_path), commands.model_dump_json()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with command:
        assert command.stdout is not None
        supervisor = int(await asyncio.to_thread(command.stdout.readline))
        await LocalCluster(tmp_path).create(launches(), avoid=NOWHERE)
        stray = await mouth.pid()
        os.kill(supervisor, signal.SIGSTOP)
        command.kill()
    await dead(supervisor)
    assert not alive(stray)


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


async def test_an_orderly_stop_lets_tasks_end_first(start: Start, mouth: Mouth) -> None:
    said = f"trap 'echo 4711 > {mouth.path}; exit 0' TERM"
    bench = start(launcher=("sh", "-c", f"{said}; {mouth.says('sleep 1000 & wait')}"))
    uid = await bench.run(launches())
    await mouth.pid()
    bench.nodes.stop("n1")
    assert await mouth.pid() == 4711
    assert (await bench.end_of(uid)).by is LossCause.NODE_LOST


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
