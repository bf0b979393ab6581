"""The record of a run is whole lines, also of a time without room on the disk."""

from io import FileIO
from pathlib import Path

import pytest

from keepstep.cli import story as story_of
from keepstep.cli.story import Story, told


class Disk(FileIO):
    """A file on a disk with so much room, a few bytes at a time."""

    room = 0

    def write(self, block: object) -> int:
        taken = bytes(block)[: min(self.room, 5)]  # type: ignore[call-overload]  # whatever is written is bytes
        if not taken:
            raise OSError(28, "No space left on device")
        self.room -= len(taken)
        return super().write(taken)


def test_what_a_full_disk_did_not_take_is_written_whole_and_in_order_once_there_is_room(tmp_path: Path) -> None:
    with Disk(tmp_path / "events.jsonl", "a") as disk:
        story = Story(disk)
        for room, line in ((0, "first"), (8, "second"), (0, "third"), (1000, "last")):
            disk.room = room
            story.add(line)
    assert (tmp_path / "events.jsonl").read_text() == "first\nsecond\nthird\nlast\n"


def test_what_waits_for_room_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_of, "MOST_WAITING", 10)
    with Disk(tmp_path / "events.jsonl", "a") as disk:
        story = Story(disk)
        for number in range(100):
            story.add(f"line {number}")
        disk.room = 1000
        story.catch_up()
    assert (tmp_path / "events.jsonl").read_text() == "line 0\nline 1\n"


def test_a_disk_that_stays_full_ends_no_run() -> None:
    with told(Path("/dev/full")) as story:
        story.add("JobStarted")
