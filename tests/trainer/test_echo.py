"""A pod's own output shows what its ranks print, and whoever reads that output, or does not, is no matter to them."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepstep.trainer import wire
from keepstep.trainer.echoed import BEHIND, BLOCK, LINE, PROGRESS_EVERY_S, Followed, Screen, cut
from tests.trainer.desk import Desk, eventually, script

IN_A_POD = ("--wait",)
TALKS = """
import os, sys
print("hello", flush=True)
print("oops", file=sys.stderr, flush=True)
sys.stdout.write("last words of generation " + os.environ["KEEPSTEP_GENERATION"])
"""


@pytest.mark.parametrize(
    ("text", "lines", "rest", "bar"),
    [
        (b"a\nb\nc", [b"a", b"b"], b"c", None),
        (b"\r10%\r20%", [], b"20%", b"10%"),
        (b"10%\r20%\r", [], b"20%\r", b"10%"),
        (b"10%\r100%\nnext", [b"100%"], b"next", None),
        (b"a line of Windows\r\n", [b"a line of Windows"], b"", None),
        (b"half of its end\r", [], b"half of its end\r", None),
        (b"x" * 9000 + b"\n", [b"x" * LINE + b" ..."], b"", None),
        (b"", [], b"", None),
    ],
)
def test_output_is_cut_into_what_a_screen_would_show(
    text: bytes, lines: list[bytes], rest: bytes, bar: bytes | None
) -> None:
    assert cut(text) == (lines, rest, bar)


def test_a_line_that_never_ends_is_kept_no_longer_than_it_is_shown() -> None:
    rest = b""
    for _ in range(10):
        rest = cut(rest + b"x" * BLOCK).rest
    assert len(rest) == LINE + 1
    assert cut(rest + b"\n").lines == [b"x" * LINE + b" ..."]


@contextmanager
def followed(path: Path) -> Iterator[tuple[Followed, Path]]:
    """Follow a file of rank 3; yields what has what is shown."""
    shown = path.with_name("shown")
    with shown.open("ab", buffering=0) as to:
        yield Followed(str(path), 3, 1, to.fileno()), shown


def test_what_a_generation_printed_is_shown_whole_before_the_next_one_says_a_word(tmp_path: Path) -> None:
    """An unfinished last line of the first, and what was beyond one block, came between the lines of the next."""
    first, second = (Path(wire.log_path(str(tmp_path), generation, 3, "out")) for generation in (1, 2))
    for path in (first, second):
        path.parent.mkdir(parents=True)
    old = [b"one %06d" % number for number in range(BLOCK // 5)]
    first.write_bytes(b"\n".join(old))
    second.write_bytes(b"two\n")
    with (tmp_path / "shown").open("ab", buffering=0) as to:
        screen = Screen(str(tmp_path), to.fileno(), to.fileno())
        screen.follow(1, [3])
        screen.follow(2, [3])
        screen.end()
    shown = (tmp_path / "shown").read_bytes().splitlines()
    assert shown == [b"[rank3]: " + line for line in (*old, b"two")]


def test_of_a_flood_the_middle_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "out"
    lines = [b"%07d\n" % number for number in range(BEHIND // 4)]
    path.write_bytes(b"".join(lines))
    with followed(path) as (file, shown):
        while file.look(0.0):
            pass
        first, *rest = shown.read_bytes().splitlines(keepends=True)
    left_out = len(b"".join(lines)) - BLOCK
    assert first.decode() == f"[rank3]: ... {left_out} bytes are left out here; {path} has the newest ...\n"
    assert len(rest) == BLOCK // 8
    assert rest == [b"[rank3]: " + line for line in lines[-len(rest) :]]


def test_a_progress_bar_is_shown_now_and_then_and_once_more_when_it_is_full(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with followed(path) as (file, shown), path.open("ab", buffering=0) as rank:
        for at, bar in enumerate((b"\r10%", b"\r20%", b"\r30%")):
            rank.write(bar)
            file.look(100.0 + at)
        rank.write(b"\r40%")
        file.look(101.0 + PROGRESS_EVERY_S)
        rank.write(b"\r100%\n")
        file.look(102.0 + PROGRESS_EVERY_S)
        assert shown.read_bytes() == b"[rank3]: 10%\n[rank3]: 30%\n[rank3]: 100%\n"


@contextmanager
def pod(folder: Path, source: str, *, echo: str | None = None) -> Iterator[tuple[Desk, Path]]:
    """A launcher as in a pod, of two ranks; yields the file that has the container's output."""
    shown = folder / "container.out"
    with (
        shown.open("wb") as to,
        Desk(folder, script(folder, source), nproc=2, launcher=IN_A_POD, shows=to.fileno(), echo=echo) as desk,
    ):
        yield desk, shown


def test_what_ranks_print_is_shown_to_its_last_word_with_the_rank_before_it(tmp_path: Path) -> None:
    with pod(tmp_path, TALKS) as (desk, shown):
        for generation in (1, 2):
            desk.start(generation)
            desk.hear("exit")
            desk.hear("exit")
        desk.say("end", code=0)
        assert desk.launcher.wait(100) == 0
    words = [f"[rank{rank}]: last words of generation {generation}" for generation in (1, 2) for rank in (0, 1)]
    assert sorted(shown.read_text().splitlines()) == sorted([*words, *2 * ["[rank0]: hello", "[rank1]: hello"]])
    assert (tmp_path / "launcher.log").read_text().count("[rank1]: oops\n") == 2
    assert desk.output(rank=1, generation=2) == "hello\nlast words of generation 2"


def test_of_a_pod_of_which_the_first_rank_is_wanted_that_alone_is_shown(tmp_path: Path) -> None:
    with pod(tmp_path, TALKS, echo="first") as (desk, shown):
        desk.start()
        desk.say("end", code=0)
        desk.launcher.wait(100)
    assert {line.partition(":")[0] for line in shown.read_text().splitlines()} <= {"[rank0]"}


def test_nothing_is_shown_where_that_is_switched_off_and_none_but_a_pod_shows_anything(tmp_path: Path) -> None:
    with pod(tmp_path, TALKS, echo="off") as (desk, shown):
        assert desk.start()
        desk.hear("exit")
        desk.say("end", code=0)
        desk.launcher.wait(100)
    assert shown.read_text() == ""
    alone = tmp_path / "alone"
    alone.mkdir()
    with (alone / "out").open("wb") as to, Desk(alone, script(alone, TALKS), shows=to.fileno()) as desk:
        desk.start()
        desk.hear("exit")
    assert (alone / "out").read_text() == ""


FLOODS = "import sys\nfor number in range(400000): print('a line of some length', number)\nprint('end', flush=True)\n"


def test_where_nobody_reads_neither_a_rank_nor_its_stop_nor_the_end_waits(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    with Desk(tmp_path, script(tmp_path, FLOODS), launcher=IN_A_POD, shows=writes) as desk:
        desk.start()
        assert desk.hear("exit")["code"] == 0
        assert desk.output().endswith("end\n")
        assert len(desk.output().splitlines()) == 400001
        desk.stop()
        desk.say("end", code=5)
        assert desk.launcher.wait(30) == 5
    os.close(reads)
    os.close(writes)


def test_ranks_and_their_launcher_go_on_without_it(tmp_path: Path) -> None:
    source = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"
    with pod(tmp_path, source) as (desk, shown):
        desk.start()
        eventually(lambda: shown.read_text().count("up") == 2)
        for pid in shows_of(desk.launcher.pid):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not shows_of(desk.launcher.pid))
        assert desk.stop()["unkillable"] == []
        desk.start(2)
        desk.wait_for_output("up", generation=2)
        desk.say("end", code=0)
        assert desk.launcher.wait(100) == 0


def shows_of(launcher: int) -> list[int]:
    """Return the processes of a launcher that show what ranks print."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return [int(pid) for pid in children if b"echoed" in Path(f"/proc/{pid}/cmdline").read_bytes()]
