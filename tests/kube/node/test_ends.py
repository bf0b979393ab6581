"""How pods end: deletion with its grace, by force, with their controller; and that no process of theirs stays."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.objects import Obj
from .manifests import end, indexed_job, phase, pod, shell
from .stack import KubeStack

ROOT = Path(__file__).parents[3]
SLOW = "trap 'sleep 0.2; exit 7' TERM; while :; do sleep 0.02; done"
DEAF = "trap '' TERM; while :; do sleep 0.02; done"


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if words(pid)]


def words(pid: int) -> bytes:
    """Return a process's command line, nothing of one that is gone or only waits to be reaped."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def mounts() -> str:
    return Path("/proc/self/mounts").read_text(encoding="utf-8")


async def running(k: KubeStack, script: str, **spec: Any) -> list[int]:
    """Start a pod and return its processes."""
    await k.apply(pod(shell(script), **spec))
    await k.until(lambda: phase(k.pod("p")) == "Running")
    found = k.pod("p")
    assert found is not None
    await asyncio.sleep(0.2)
    pids = k.processes(found)
    assert alive(pids)
    return pids


async def test_a_deleted_pod_is_asked_to_end_and_says_how_it_did(k: KubeStack) -> None:
    await running(k, SLOW)
    said = []
    k.store.listen(lambda change: said.append(change.object) if change.kind is kinds.POD else None)
    k.store.delete(kinds.POD, "p", "default")
    await k.until(lambda: k.pod("p") is None)
    assert (phase(said[-1]), end(said[-1])) == ("Failed", (7, "Error"))


async def test_a_pod_that_ends_well_when_asked_succeeds(k: KubeStack) -> None:
    await running(k, "trap 'exit 0' TERM; while :; do sleep 0.02; done")
    said = []
    k.store.listen(lambda change: said.append(change.object) if change.kind is kinds.POD else None)
    k.store.delete(kinds.POD, "p", "default")
    await k.until(lambda: k.pod("p") is None)
    assert (phase(said[-1]), end(said[-1])) == ("Succeeded", (0, "Completed"))


async def test_a_pod_that_does_not_listen_is_killed_when_its_grace_is_over(k: KubeStack) -> None:
    await running(k, DEAF, terminationGracePeriodSeconds=20)
    said = []
    k.store.listen(lambda change: said.append(change.object) if change.kind is kinds.POD else None)
    asked = asyncio.get_running_loop().time()
    k.store.delete(kinds.POD, "p", "default")
    await k.until(lambda: k.pod("p") is None)
    assert asyncio.get_running_loop().time() - asked >= 20 / 20
    assert end(said[-1]) == (137, "Error")


@pytest.mark.parametrize("shared", [False, True])
async def test_a_grandchild_in_a_session_of_its_own_dies_with_the_first_process(k: KubeStack, shared: bool) -> None:
    script = "setsid sleep 600 & (setsid sleep 600 &) ; read -r line < /gate/fifo; exit 5"
    mounts = [{"name": "gate", "mountPath": "/gate"}]
    make = shell("mkfifo /gate/fifo", "make", volumeMounts=mounts)
    main = shell(script, volumeMounts=mounts)
    manifest = pod(main, initContainers=[make], volumes=[{"name": "gate", "emptyDir": {}}])
    manifest["spec"]["shareProcessNamespace"] = shared
    await k.apply(manifest)
    await k.until(lambda: phase(k.pod("p")) == "Running")
    found = k.pod("p")
    assert found is not None

    def sleepers() -> list[int]:
        return [pid for pid in alive(k.processes(found)) if Path(f"/proc/{pid}/cmdline").read_bytes()[:5] == b"sleep"]

    await k.until(lambda: len(sleepers()) == 2)
    pids = sleepers()
    await asyncio.to_thread(open_gate, k, found["metadata"]["uid"])
    await k.until(lambda: phase(k.pod("p")) == "Failed")
    assert (end(k.pod("p")), alive(pids)) == ((5, "Error"), [])


def open_gate(k: KubeStack, uid: str) -> None:
    (gate,) = k.folder.glob(f"nodes/*/{uid}/volumes/gate/fifo")
    gate.write_text("go\n", encoding="utf-8")


async def test_containers_that_share_processes_see_each_other(k: KubeStack) -> None:
    watch = "until grep -qa 'sleep.[6]00' /proc/[0-9]*/cmdline; do sleep 0.05; done"  # not its own command line
    side = shell(watch, "watcher")
    await k.apply(pod(shell("exec sleep 600"), side, shareProcessNamespace=True))
    await k.until(lambda: end(k.pod("p"), "watcher") == (0, "Completed"))
    await k.until(lambda: phase(k.pod("p")) == "Running")


async def test_containers_that_share_none_are_the_first_process_of_their_own(k: KubeStack) -> None:
    await k.apply(pod(shell("test $$$$ = 1")))
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")


async def test_a_pod_deleted_by_force_is_gone_at_once_and_its_processes_soon_after(k: KubeStack) -> None:
    pids = await running(k, DEAF)
    k.store.delete(kinds.POD, "p", "default", DeleteOptions(grace=0))
    assert k.pod("p") is None
    assert alive(pids)
    await k.until(lambda: not alive(pids))


async def test_a_successor_of_the_same_name_is_another_pod(k: KubeStack) -> None:
    first = await running(k, DEAF)
    k.store.delete(kinds.POD, "p", "default", DeleteOptions(grace=0))
    second = await running(k, "sleep 600")
    await k.until(lambda: not alive(first))
    assert alive(second)
    assert phase(k.pod("p")) == "Running"


def job_status(k: KubeStack) -> Obj:
    found: Obj = k.store.get(kinds.JOB, "j", "default").get("status", {})
    return found


async def test_a_job_makes_a_failed_pod_anew(k: KubeStack) -> None:
    await k.apply(indexed_job(shell('test "$JOB_COMPLETION_INDEX" = 0 || exit 1; sleep 600')))
    await k.until(lambda: job_status(k).get("failed", 0) >= 1)
    await k.until(lambda: len([one for one in k.pods() if phase(one) == "Running"]) >= 1)


async def test_a_job_whose_pods_end_well_is_complete(k: KubeStack) -> None:
    await k.apply(indexed_job(shell("exit 0")))
    await k.until(lambda: job_status(k).get("succeeded") == 2)


async def test_nothing_stays_when_the_cluster_goes(k: KubeStack) -> None:
    pids = await running(k, "setsid sleep 600 & sleep 600", shareProcessNamespace=True)
    k.kubelet.close()
    assert (alive(pids), list((k.folder / "nodes").glob("*/*"))) == ([], [])
    assert str(k.folder) not in mounts()


async def test_processes_die_with_the_process_that_runs_the_test(k: KubeStack, tmp_path: Path) -> None:
    """A child stands for the test process: it starts a container as the kubelet does, and is killed."""
    script = tmp_path / "starts.py"
    script.write_text(STARTS, encoding="utf-8")
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        str(tmp_path),
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    pids = [int(word) for word in (await child.stdout.readline()).split()]
    assert len(alive(pids)) >= 2
    child.kill()
    await child.wait()
    await k.until(lambda: not alive(pids))


STARTS = """
import asyncio, pathlib, sys, os
from tests.kube.node.processes import ContainerSpec, members, start_container, start_pause

async def main():
    folder, begun = pathlib.Path(sys.argv[1]), asyncio.Event()
    pause = start_pause(begun=lambda _: begun.set(), ended=lambda _: None)
    await begun.wait()
    begun.clear()
    argv = ["/bin/sh", "-c", "setsid sleep 600 & sleep 600"]
    spec = ContainerSpec(pause.pid, "p", [], argv, {"PATH": os.environ["PATH"]}, "/")
    one = start_container(spec, folder / "spec", folder / "log", begun=lambda _: begun.set(), ended=lambda _: None)
    await begun.wait()
    await asyncio.sleep(0.3)
    print(*members(pause.pid), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
