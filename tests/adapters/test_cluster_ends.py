"""How tasks and nodes end: in order, killed, or with the command, and what is left behind then."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_faults import TaskFault, hurt_task
from keepstep.adapters.local_nodes import LocalNodes
from keepstep.adapters.local_task import Commands
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.errors import Permanent
from tests.adapters.cluster_bench import SLEEP, Mouth, Start, alive, dead
from tests.adapters.cluster_tools import NOWHERE, launches
from tests.trainer.test_launcher_stops import FLEEING, expect_ended, fleeing


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


COMET = """
import os, time
if os.fork() == 0:
    os.setpgid(0, 0)
    while os.fork() == 0:
        with open(f"comet.{os.getpid()}", "w") as file:
            file.write(str(os.getpid()))
        os.replace(file.name, "comet")
    os._exit(0)
time.sleep(1000)
"""


async def test_what_forks_and_ends_faster_than_anybody_looks_is_gone_before_its_task_is(start: Start) -> None:
    """Each scan found another one, which had ended when it was to be killed: the task was never said to be gone."""
    bench = start(launcher=(sys.executable, "-c", COMET))
    uid = await bench.run(launches())
    seen = bench.folder / "nodes" / "n1" / "tasks" / uid / "comet"
    async with asyncio.timeout(20):
        while not seen.exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
    await hurt_task(bench.folder, uid, TaskFault.LAUNCHER_KILL)
    try:
        end = await bench.end_of(uid)
        assert end.by is LossCause.LAUNCHER_EXITED
        last = seen.read_text()
        await asyncio.sleep(0.2)  # in which it would have forked many times
        assert seen.read_text() == last
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(os.getpgid(int(seen.read_text())), signal.SIGKILL)


async def test_what_leaves_its_session_at_each_fork_is_gone_before_its_task_is(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No scan met it, and the task was said to be gone, with proof, while it went on."""
    with fleeing(tmp_path) as count:
        monkeypatch.setenv("COUNT", str(count))
        bench = start(launcher=(sys.executable, "-c", FLEEING))
        uid = await bench.run(launches())
        async with asyncio.timeout(20):
            while not any(count.read_bytes()):  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
        await hurt_task(bench.folder, uid, TaskFault.LAUNCHER_KILL)
        assert (await bench.end_of(uid)).by is LossCause.LAUNCHER_EXITED
        expect_ended(count)


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


async def test_an_orderly_stop_lets_tasks_end_first(start: Start, mouth: Mouth) -> None:
    said = f"trap 'echo 4711 > {mouth.path}; exit 0' TERM"
    bench = start(launcher=("sh", "-c", f"{said}; {mouth.says('sleep 1000 & wait')}"))
    uid = await bench.run(launches())
    await mouth.pid()
    bench.nodes.stop("n1")
    assert await mouth.pid() == 4711
    assert (await bench.end_of(uid)).by is LossCause.NODE_LOST


@pytest.mark.parametrize("stop", [LocalNodes.stop_all, LocalNodes.lose_all])
async def test_a_node_that_is_made_while_all_are_stopped_is_stopped_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: Callable[[LocalNodes], None]
) -> None:
    """Its process was there and not yet noted: it went on, and Ctrl-C waited half a minute for it."""
    made, processes, popen = threading.Event(), list[subprocess.Popen[bytes]](), subprocess.Popen[bytes]

    def slow(command: Sequence[str], **how: Any) -> "subprocess.Popen[bytes]":
        processes.append(popen(command, **how))
        made.set()
        time.sleep(0.3)
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", slow)
    nodes = LocalNodes(tmp_path)
    starting = asyncio.create_task(asyncio.to_thread(nodes.start_all, ["n1", "n2"]))
    await asyncio.to_thread(made.wait)
    await asyncio.to_thread(stop, nodes)
    with pytest.raises(Permanent):
        await starting
    assert len(processes) == 1
    assert processes[0].poll() is not None
