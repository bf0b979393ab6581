"""The stack of one machine goes before the ranks, which keep the priority that the user gave to the command."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from keepstep.trainer.system import AHEAD, RANK_NICE
from tests.trainer.desk import LIBS, Desk, eventually, script

USERS = 4
"""The niceness that a user gave to the command, in these tests."""
NICENESS = """
import os, sys
sys.stdout.write(f"{os.getpriority(os.PRIO_PROCESS, 0)} {os.getenv('KEEPSTEP_RANK_NICE')}")
"""
COMMAND = {"kind": "command", "argv": [sys.executable, "-c", NICENESS]}


def may_go_ahead() -> bool:
    """Say whether the kernel lets this user's processes go before others."""
    return os.geteuid() == 0 or 20 - resource.getrlimit(resource.RLIMIT_NICE)[0] <= USERS - AHEAD


def test_the_stack_goes_ahead_once_where_the_kernel_lets_it() -> None:
    source = f"import os; os.nice({USERS}); from keepstep.trainer.system import go_ahead; go_ahead(); go_ahead()"
    command = [sys.executable, "-c", source + NICENESS]
    said = subprocess.check_output(command, env=os.environ | {"PYTHONPATH": LIBS}, text=True)
    assert said == (f"{USERS - AHEAD} {USERS}" if may_go_ahead() else f"{USERS} None")


@pytest.mark.parametrize("kind", ["script", "command"])
@pytest.mark.parametrize("warm", [0, 1])
def test_ranks_keep_the_priority_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, warm: int
) -> None:
    monkeypatch.setenv(RANK_NICE, str(USERS))
    entrypoint = script(tmp_path, NICENESS) if kind == "script" else COMMAND
    with Desk(tmp_path, entrypoint, trainer={"warm_ranks": warm, "preload": []}) as desk:
        desk.start()
        eventually(lambda: desk.output() == f"{USERS} None")


def test_a_launcher_that_was_made_nicer_since_keeps_its_ranks_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RANK_NICE, str(os.getpriority(os.PRIO_PROCESS, 0) - 1))
    with Desk(tmp_path, script(tmp_path, NICENESS)) as desk:
        desk.start()
        eventually(lambda: desk.output() == f"{os.getpriority(os.PRIO_PROCESS, 0)} None")
