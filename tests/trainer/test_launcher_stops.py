"""How real ranks are stopped: as gently as they allow, and nothing of them survives."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer.desk import SLEEP, Desk, eventually, gone, script

COMET = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
    while os.fork() == 0:
        with open(os.environ["OUT"] + str(os.getpid()), "w") as file:
            file.write(str(os.getpid()))
        os.replace(file.name, os.environ["OUT"])
    os._exit(0)
while True:
    signal.pause()
"""
FLEEING = """
import ctypes, mmap, os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
count = mmap.mmap(os.open(os.environ["COUNT"], os.O_RDWR), 8)
libc = ctypes.CDLL(None)  # its fork has none of Python's own work around it
if libc.fork() == 0:
    while libc.fork() == 0:
        libc.setsid()
        if count[7]:  # its test is over
            libc._exit(0)
        count[:7] = (int.from_bytes(count[:7], "little") + 1).to_bytes(7, "little")
    libc._exit(0)
while True:
    signal.pause()
"""


STUBBORN = """
import os, signal, subprocess, sys, time
child = "import os, signal, time; os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]])", child])
time.sleep(600)
"""  # noqa: E501


def test_a_grandchild_that_ignores_sigterm_in_its_own_session_is_gone_before_stopped(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, STUBBORN)) as desk:
        (rank,) = desk.start()
        eventually(lambda: desk.output().strip())
        grandchild = int(desk.output())
        assert not gone(grandchild)
        stopped = desk.stop()
        assert gone(grandchild)
        assert gone(rank["pid"])
    assert stopped["unkillable"] == []


def test_a_grandchild_that_forks_and_ends_faster_than_anybody_looks_is_gone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at the process table found another one, which had ended when it was to be killed."""
    monkeypatch.setenv("KEEPSTEP_NO_CGROUP", "1")
    with Desk(tmp_path, script(tmp_path, COMET), env={"OUT": str(tmp_path / "pid")}) as desk:
        desk.start()
        eventually((tmp_path / "pid").exists)
        stopped = desk.stop()
        assert stopped["unkillable"] == []
    before = (tmp_path / "pid").read_text()
    time.sleep(0.2)  # in which it would have forked many times
    assert (tmp_path / "pid").read_text() == before


def test_a_chain_that_leaves_its_session_at_each_fork_is_ended_without_a_control_group_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process group held it and no look met it, so that it was called stopped and went on."""
    monkeypatch.setenv("KEEPSTEP_NO_CGROUP", "1")
    with (
        fleeing(tmp_path) as count,
        Desk(tmp_path, script(tmp_path, FLEEING), env={"COUNT": str(count)}) as desk,
    ):
        desk.start()
        eventually(lambda: any(count.read_bytes()))
        assert desk.stop()["unkillable"] == []
        expect_ended(count)


@contextlib.contextmanager
def fleeing(folder: Path) -> Iterator[Path]:
    """Yield the file in which FLEEING counts its forks; afterwards it ends by itself, whoever failed to catch it."""
    count = folder / "count"
    count.write_bytes(bytes(8))
    try:
        yield count
    finally:
        with count.open("r+b") as file:
            file.seek(7)
            file.write(b"\x01")


def expect_ended(count: Path) -> None:
    """Nothing counts on."""
    before = count.read_bytes()
    time.sleep(0.3)  # in which it would have forked many times
    assert count.read_bytes() == before


def test_a_rank_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    source = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP
    with Desk(tmp_path, script(tmp_path, source)) as desk:
        desk.start()
        desk.wait_for_output("up")
        desk.stop(grace_s=0.2)
        told = desk.hear("exit")
    assert (told["signal"], told["ordered"]) == (signal.SIGKILL, True)


def test_a_rank_with_a_handler_uses_its_grace(tmp_path: Path) -> None:
    source = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n" + SLEEP
    with Desk(tmp_path, script(tmp_path, source)) as desk:
        desk.start()
        desk.wait_for_output("up")
        desk.stop(grace_s=30)
        told = desk.hear("exit")
    assert (told["code"], told["ordered"]) == (9, True)


def test_a_frozen_rank_is_stopped_without_waiting_for_the_grace(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        (rank,) = desk.start()
        desk.wait_for_output("up")
        os.kill(rank["pid"], signal.SIGSTOP)
        eventually(lambda: ") T " in Path(f"/proc/{rank['pid']}/stat").read_text())
        began = time.monotonic()
        desk.stop(grace_s=30)
        assert time.monotonic() - began < 10
        assert desk.hear("exit")["signal"] == signal.SIGKILL


def test_ranks_and_spares_die_with_a_killed_launcher(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP), nproc=2, trainer={"warm_ranks": 3, "preload": ["json"]}) as desk:
        ranks = desk.start()
        desk.wait_for_output("up")
        children = Path(f"/proc/{desk.launcher.pid}/task/{desk.launcher.pid}/children").read_text().split()
        desk.launcher.kill()
        eventually(lambda: all(gone(int(pid)) for pid in children))
    assert {str(rank["pid"]) for rank in ranks} < set(children)


def test_a_shell_that_keeps_sigterm_to_itself_does_not_keep_the_training_alive(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SLEEP.replace("'up'", "'up', __import__('os').getpid()"))
    command = {"kind": "command", "argv": ["bash", "-c", "python3 train.py; echo over"]}
    with Desk(tmp_path, command) as desk:
        desk.start()
        desk.wait_for_output("up")
        training = int(desk.output().split()[1])
        began = time.monotonic()
        desk.stop(grace_s=30)
        assert time.monotonic() - began < 10
        assert gone(training)
