"""What ranks and others wrote reaches a terminal without power over it, and a file or a pipe as it is."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepstep.cli import options, places
from keepstep.cli.screen import LiveScreen
from tests.cli.test_main import finished
from tests.cli.test_rank_logs import joined, printed

EVIL = b"\x1b[31mloss nan\x1b[0m \x1b]0;owned\x07\x1b[2J\xc2\x9b6n \xff 9%\r10%\nno end"
PATIENCE_S = 60.0


def on_terminal(command: list[str], folder: Path) -> bytes:
    """Run a command on a terminal of its own and return what the terminal was sent."""
    main, its = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdin=its, stdout=its, stderr=its, close_fds=True)
    os.close(its)
    told, until = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if not select.select([main], [], [], 1.0)[0]:
            continue
        try:
            block = os.read(main, 1 << 16)
        except OSError:  # the terminal's other end is closed
            break
        if not block:
            break
        told += block
    os.close(main)
    assert process.wait(PATIENCE_S) == 0, told
    return told


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a job ran whose rank printed what it should not have."""
    monkeypatch.chdir(tmp_path)
    finished(tmp_path, "train", joined("t0"))
    (run,) = places.told_runs(tmp_path / ".keepstep")
    printed(run / "cluster" / "nodes" / "n1" / "tasks" / "t0", 1, 0, "out", EVIL)
    return tmp_path


LOGS = [sys.executable, "-m", "keepstep.cli", "job", "logs", "train"]


def test_logs_on_a_terminal_have_colours_and_no_powers(ran: Path) -> None:
    told = on_terminal(LOGS, ran)
    assert b"\x1b[31mloss nan\x1b[0m" in told
    assert rb"\u001b]0;owned\u0007\u001b[2J\u009b6n" in told
    assert b" 9%\r\n10%\r\nno end" in told, "what a progress bar wrote over itself is a line each"
    for power in (b"\x1b]", b"\x1b[2J", b"\x07", b"\xc2\x9b"):
        assert power not in told


def test_logs_in_a_pipe_are_the_bytes_that_were_written(ran: Path) -> None:
    done = subprocess.run(LOGS, cwd=ran, capture_output=True, check=True)
    assert done.stdout.partition(b"<==\n")[2] == EVIL + b"\n"


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def test_every_way_to_print_is_without_power_over_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, Terminal())
    options.write("a\x1b[2J")
    options.note("b\x1b[2J")
    options.emit({"c": "\x9b2J"})
    options.listing(["HEAD"], [["d\x1b[2J\n"]])
    assert isinstance(sys.stdout, Terminal)
    assert isinstance(sys.stderr, Terminal)
    told = sys.stdout.text + sys.stderr.text
    assert "\x1b" not in told
    assert "\x9b" not in told
    for letter, power in zip("abd", [r"\u001b[2J"] * 3, strict=True):
        assert f"{letter}{power}" in told


def test_a_run_s_screen_shows_what_a_rank_printed_in_its_colours_alone(capsys: pytest.CaptureFixture[str]) -> None:
    screen = LiveScreen()
    screen.say("[rank 0] \x1b[31mred\x1b[0m \x1b]0;owned\x07\x1b[2J 9%\r10%")
    screen.close()
    told = capsys.readouterr().out
    assert r"red \u001b]0;owned\u0007\u001b[2J 9%" in told
    assert "\x1b]0;owned" not in told
