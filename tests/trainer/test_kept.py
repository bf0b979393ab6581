"""What ranks print is bounded: the newest is kept, every offset stays true, and no generation loses its last lines."""

import os
from pathlib import Path

import pytest

from keepstep.trainer import kept, system, wire
from keepstep.trainer.kept import LAST_BYTES, STEP, Hole, Log, RankLogs, first_kept, holes
from tests.trainer.desk import Desk, eventually

MIB = 1024 * 1024

FLOOD = """
import sys, time
line = b"x" * 1023 + b"\\n"
for _ in range(40 * 1024):
    sys.stdout.buffer.write(line)
sys.stdout.buffer.write(b"the last line\\n")
sys.stdout.buffer.flush()
time.sleep(60)
"""


def taken(path: Path) -> int:
    """Return the bytes that a file takes on its disk."""
    return path.stat().st_blocks * 512


def test_nothing_is_given_back_up_to_the_limit() -> None:
    assert holes([Log("new", 0, 6 * MIB), Log("old", 4 * MIB, 14 * MIB)], 16 * MIB) == []


def test_the_oldest_goes_first_and_every_generation_keeps_its_last_lines() -> None:
    logs = [Log("c", 0, 100 * MIB), Log("b", 0, 10 * MIB + 5), Log("a", 0, 1000)]
    found = holes(logs, 16 * MIB)
    assert found == [Hole("c", 0, 86 * MIB), Hole("b", 0, 10 * MIB - LAST_BYTES)]
    assert all(hole.end % STEP == 0 for hole in found)


def test_what_was_given_back_is_not_given_back_again() -> None:
    assert holes([Log("c", 86 * MIB, 103 * MIB)], 16 * MIB) == [Hole("c", 86 * MIB, 89 * MIB)]


def test_a_rank_that_floods_its_output_takes_no_more_of_the_disk_than_the_policy_says(tmp_path: Path) -> None:
    (tmp_path / "flood.py").write_text(FLOOD)
    with Desk(tmp_path, {"kind": "script", "path": str(tmp_path / "flood.py")}, trainer={"log_keep": 16 * MIB}) as desk:
        desk.start()
        path = Path(wire.log_path(str(tmp_path), 1, 0, "out"))
        eventually(lambda: path.exists() and path.stat().st_size == 40 * MIB + 14)
        eventually(lambda: taken(path) <= 16 * MIB, 10)
        with path.open("rb") as file:
            start = first_kept(file.fileno(), 0)
            file.seek(start)
            text = file.read()
        assert 13 * MIB < len(text) <= 16 * MIB
        assert text.endswith(b"x\nthe last line\n")
        assert b"\0" not in text
        desk.stop()


def test_earlier_generations_count_and_keep_their_last_lines(tmp_path: Path) -> None:
    for generation in (1, 2, 10):
        path = Path(wire.log_path(str(tmp_path), generation, 3, "err"))
        path.parent.mkdir(parents=True)
        path.write_bytes(b"y" * 8 * MIB + b"\nlast\n")
    logs = RankLogs(str(tmp_path), 16 * MIB)
    logs.follow([3])
    logs.bound()
    left = [taken(Path(wire.log_path(str(tmp_path), generation, 3, "err"))) for generation in (1, 2, 10)]
    assert left[0] <= 2 * LAST_BYTES
    assert 5 * MIB < left[1] < 7 * MIB
    assert left[2] >= 8 * MIB
    assert Path(wire.log_path(str(tmp_path), 1, 3, "err")).read_bytes().endswith(b"y" * 1000 + b"\nlast\n")


def test_a_file_system_that_cannot_is_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refused(path: str, start: int, end: int) -> None:
        raise OSError(95, os.strerror(95), path)

    monkeypatch.setattr(system, "punch", refused)
    path = Path(wire.log_path(str(tmp_path), 1, 0, "out"))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"z" * 3 * MIB)
    logs = RankLogs(str(tmp_path), MIB)
    logs.follow([0])
    logs.bound()
    logs.bound()
    assert capfd.readouterr().err.count("is not bounded") == 1


def test_a_file_that_was_taken_away_ends_nothing(tmp_path: Path) -> None:
    path = Path(wire.log_path(str(tmp_path), 1, 0, "out"))
    path.parent.mkdir(parents=True)
    path.touch()
    logs = RankLogs(str(tmp_path), kept.LAST_BYTES)
    logs.follow([0])
    path.unlink()
    logs.bound()
