"""Numbers become a condition, a condition that lasts becomes a report, and one that flaps does not become a flood."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from keepstep.agent.node.holding import (
    AGAIN_S,
    CALM_S,
    CONFIRM_S,
    FORGIVEN_S,
    LONGEST_AGAIN_S,
    LONGEST_CALM_S,
    Held,
    Quiet,
    again,
    hold,
)
from keepstep.agent.node.looks import clock, here, memory

MEMINFO = "MemTotal:       1000000 kB\nMemFree:           5000 kB\nMemAvailable:  {} kB\n"
PRESSURE = "some avg10=0.00 avg60=40.00 avg300=0.00 total=1\nfull avg10=0.00 avg60={} avg300=0.00 total=1\n"


@pytest.mark.parametrize(
    ("available", "stalled", "wrong"), [(500000, "0.00", False), (19000, "0.00", True), (500000, "20.50", True)]
)
def test_memory_that_is_gone_or_that_all_wait_for_is_pressure(available: int, stalled: str, wrong: bool) -> None:
    assert memory(MEMINFO.format(available), PRESSURE.format(stalled)).wrong is wrong


def test_a_kernel_that_tells_neither_is_not_called_wrong() -> None:
    assert not memory("", "").wrong
    assert not memory(MEMINFO.format(500000), "").wrong


@pytest.mark.parametrize(
    ("off_s", "took_s", "wrong"), [(0.0, 0.01, False), (2.5, 0.01, True), (-9, 0.01, True), (3, 4, False)]
)
def test_a_clock_is_wrong_by_more_than_the_question_took(off_s: float, took_s: float, wrong: bool) -> None:
    asked = datetime(2026, 1, 1, tzinfo=UTC)
    answered = asked + timedelta(seconds=took_s)
    assert clock(asked + timedelta(seconds=took_s / 2 + off_s), asked, answered).wrong is wrong


FILL = """
import json, os, subprocess, sys
from keepstep.agent.node.looks import here
folder = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], check=True)
def full(): return [(look.name, look.wrong) for look in here([folder]) if look.about == folder]
told = [full()]
with open(folder + "/checkpoint", "wb", buffering=0) as file:
    try:
        while True: file.write(b"x" * 4096)
    except OSError: pass
told.append(full())
os.unlink(folder + "/checkpoint")
told.append(full())
print(json.dumps(told))
"""


def test_a_real_filesystem_that_is_full_is_seen_and_one_that_was_made_room_in_too(tmp_path: os.PathLike[str]) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("mounting takes root and unshare")
    command = [unshare, "-m", sys.executable, "-c", FILL, str(tmp_path)]
    environ = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    name = f"DiskFull {tmp_path}"
    assert json.loads(done.stdout) == [[[name, False]], [[name, True]], [[name, False]]]


def test_a_path_that_is_not_there_is_left_out() -> None:
    assert [look.condition for look in here(["/nowhere"])] == ["MemoryPressure"]


class Story:
    """One condition looked at every second; keeps what was told, with when."""

    def __init__(self) -> None:
        self.held: Held | None = None
        self.now = 0.0
        self.told: list[tuple[float, bool]] = []

    def look(self, *, wrong: bool, seconds: float) -> None:
        for _ in range(int(seconds)):
            self.held, tells = hold(self.held, wrong=wrong, now=self.now)
            if tells:
                self.told.append((self.now, self.held.told))
            self.now += 1


def test_a_condition_is_told_once_it_has_lasted_and_over_once_it_has_stayed_away() -> None:
    story = Story()
    story.look(wrong=True, seconds=100)
    story.look(wrong=False, seconds=100)
    assert story.told == [(CONFIRM_S, True), (100 + CALM_S, False)]


def test_a_condition_that_comes_and_goes_within_its_windows_is_one() -> None:
    story = Story()
    for _ in range(100):
        story.look(wrong=True, seconds=40)
        story.look(wrong=False, seconds=40)
    assert story.told == [(CONFIRM_S, True)]
    quiet = Story()
    for _ in range(100):
        quiet.look(wrong=True, seconds=20)
        quiet.look(wrong=False, seconds=40)
    assert quiet.told == []


def test_each_relapse_makes_the_next_end_wait_longer_until_it_is_forgiven() -> None:
    story = Story()
    for _ in range(200):
        story.look(wrong=True, seconds=40)
        story.look(wrong=False, seconds=80)
    assert len(story.told) <= 4
    assert story.held is not None
    assert CALM_S < story.held.calm_s <= LONGEST_CALM_S
    story.look(wrong=False, seconds=LONGEST_CALM_S + FORGIVEN_S)
    story.look(wrong=True, seconds=40)
    assert story.held.calm_s == CALM_S


def test_of_records_that_repeat_one_is_told_now_and_then_with_how_many_were_not() -> None:
    quiet: Quiet | None = None
    told: list[tuple[int, int]] = []
    for second in range(24 * 3600):
        quiet, left_out = again(quiet, float(second))
        if left_out is not None:
            told.append((second, left_out))
    assert told[:3] == [(0, 0), (int(AGAIN_S), int(AGAIN_S) - 1), (int(3 * AGAIN_S), int(2 * AGAIN_S) - 1)]
    assert len(told) < 32, "a day of one line a second"
    assert max(b - a for (a, _), (b, _) in itertools.pairwise(told)) <= LONGEST_AGAIN_S
    assert sum(left_out for _, left_out in told) + len(told) <= 24 * 3600
