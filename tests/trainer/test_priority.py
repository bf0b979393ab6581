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
    lowest = os.getpriority(os.PRIO_PROCESS, 0) + USERS - AHEAD
    return os.geteuid() == 0 or 20 - resource.getrlimit(resource.RLIMIT_NICE)[0] <= lowest


def test_the_stack_goes_ahead_for_as_long_as_it_runs_where_the_kernel_lets_it() -> None:
    """A command that had ended kept its priority, and what the same process started next got it as well."""
    source = f"import os; start = os.nice({USERS}); from keepstep.trainer.system import ahead"
    source += f"\nwith ahead(): exec({NICENESS!r})\nprint(' then ', os.getenv({RANK_NICE!r}), os.nice(0) - start)"
    said = subprocess.check_output([sys.executable, "-c", source], env=os.environ | {"PYTHONPATH": LIBS}, text=True)
    users = os.getpriority(os.PRIO_PROCESS, 0) + USERS
    assert said == (f"{users - AHEAD} {users}" if may_go_ahead() else f"{users} None") + " then  None 0\n"


@pytest.mark.parametrize("kind", ["script", "command"])
@pytest.mark.parametrize("warm", [0, 1])
def test_ranks_keep_the_priority_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, warm: int
) -> None:
    users = os.getpriority(os.PRIO_PROCESS, 0) + USERS
    monkeypatch.setenv(RANK_NICE, str(users))
    entrypoint = script(tmp_path, NICENESS) if kind == "script" else COMMAND
    with Desk(tmp_path, entrypoint, trainer={"warm_ranks": warm, "preload": []}) as desk:
        desk.start()
        eventually(lambda: desk.output() == f"{users} None")


def test_a_launcher_that_was_made_nicer_since_keeps_its_ranks_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RANK_NICE, str(os.getpriority(os.PRIO_PROCESS, 0) - 1))
    with Desk(tmp_path, script(tmp_path, NICENESS)) as desk:
        desk.start()
        eventually(lambda: desk.output() == f"{os.getpriority(os.PRIO_PROCESS, 0)} None")
