"""The local cluster with the launcher that really runs: its ranks and their children die with their node."""

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.adapters.local_faults import TaskFault, hurt_task
from keepstep.adapters.local_task import Commands
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import Command, JobSpec, TaskLaunch
from tests.adapters.cluster_bench import Bench, Mouth, alive, dead
from tests.adapters.cluster_tools import GROUP, launches

AGENT = """
import os, socket, sys
from keepstep.trainer.wire import encode
folder = os.open(sys.argv[1], os.O_PATH)
link = socket.socket(socket.AF_UNIX)
link.connect(f"/proc/self/fd/{folder}/launcher.sock")
link.sendall(encode({"do": "start", "generation": 1, "ranks": [{"rank": 0, "local_rank": 0, "env": {}, "args": []}]}))
while link.recv(4096):
    pass
"""
"""Starts rank 0 and listens; until the launcher is up it fails, and the supervisor starts it again."""


def job(mouth: Mouth) -> list[TaskLaunch]:
    """Return a task whose rank says its pid and has a child of its own session, deaf to SIGTERM, that does too."""
    child = f"trap '' TERM; {mouth.says('while :; do sleep 1000; done')}"
    rank = Command(argv=("sh", "-c", f'{mouth.says("")} setsid sh -c "$0" & exec sleep 1000', child))
    (launch,) = launches()
    spec = JobSpec(name="suite", entrypoint=rank, cwd="/", node_group=GROUP)
    return [launch.model_copy(update={"spec": spec})]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    commands = Commands(agent=(sys.executable, "-c", AGENT, "{dir}"), agent_grace_s=0.02)
    bench = Bench(tmp_path / "cluster", commands)
    yield bench
    bench.nodes.lose("n1")


async def test_the_ranks_of_a_killed_launcher_are_gone_before_its_task_is(bench: Bench, mouth: Mouth) -> None:
    uid = await bench.run(job(mouth))
    pids = [await mouth.pid(), await mouth.pid()]
    await hurt_task(bench.folder, uid, TaskFault.LAUNCHER_KILL)
    assert (await bench.end_of(uid)).by is LossCause.LAUNCHER_EXITED
    assert not any(map(alive, pids))


async def test_a_deleted_task_ends_its_ranks_within_the_grace(bench: Bench, mouth: Mouth) -> None:
    uid = await bench.run(job(mouth))
    pids = [await mouth.pid(), await mouth.pid()]
    await bench.cluster.delete(uid, grace=timedelta(seconds=0.5))
    assert (await bench.end_of(uid)).by is LossCause.DELETED
    assert not any(map(alive, pids))


async def test_the_ranks_of_a_killed_supervisor_die_with_it(bench: Bench, mouth: Mouth) -> None:
    await bench.run(job(mouth))
    rank = await mouth.pid()
    bench.supervisor.kill()
    await dead(rank)
