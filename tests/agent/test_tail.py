"""Following the files of ranks over appends, acknowledgements, truncation and agent restarts."""

from pathlib import Path

from keepstep.agent.lines import Rules
from keepstep.agent.tail import Tails, last_lines
from keepstep.contracts.events import MAX_LINE_LENGTH, MAX_LINES
from keepstep.contracts.ids import EventId
from keepstep.contracts.policy import LogPattern
from keepstep.trainer.system import punch
from keepstep.trainer.wire import log_path

RULES = Rules((LogPattern(name="nan", regex="Loss nan"),))


def written(folder: Path, text: str | bytes, *, rank: int = 0, stream: str = "out", generation: int = 1) -> Path:
    path = Path(log_path(str(folder), generation, rank, stream))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def following(folder: Path, *, generation: int = 1) -> Tails:
    tails = Tails(folder, folder / "offsets.json", RULES)
    tails.follow(generation, (0, 1))
    return tails


def offsets(tails: Tails, now: float = 0) -> list[tuple[int, str, int]]:
    return [(match.rank, match.stream, match.position.offset) for match in tails.look(now)]


def test_a_match_is_found_once_with_its_place(tmp_path: Path) -> None:
    tails = following(tmp_path)
    assert offsets(tails) == []
    written(tmp_path, "fine\nLoss nan\n", rank=1, stream="err")
    assert offsets(tails) == [(1, "err", 5)]
    assert offsets(tails) == []


def test_the_kept_offset_waits_for_the_acknowledgement(tmp_path: Path) -> None:
    tails = following(tmp_path)
    written(tmp_path, "a\nLoss nan\nb\n")
    (match,) = tails.look(0)
    tails.saying(match, EventId("m"))
    tails.save()
    assert offsets(following(tmp_path)) == [(0, "out", 2)]
    tails.acknowledged(EventId("m"))
    tails.save()
    assert offsets(following(tmp_path)) == []


def test_a_truncated_file_is_read_anew_and_its_lines_are_others(tmp_path: Path) -> None:
    tails = following(tmp_path)
    path = written(tmp_path, "Loss nan\n")
    (first,) = tails.look(0)
    path.write_text("Loss nan")
    assert tails.look(1) == ()
    written(tmp_path, "\n")
    (second,) = tails.look(2)
    assert (first.position.offset, second.position.offset) == (0, 0)
    assert second.position.life == first.position.life + 1


def test_another_generation_has_other_files(tmp_path: Path) -> None:
    tails = following(tmp_path)
    written(tmp_path, "Loss nan\n", generation=2)
    assert offsets(tails) == []
    tails.follow(2, (0,))
    assert offsets(tails) == [(0, "out", 0)]


def test_garbage_and_huge_lines_do_not_end_it(tmp_path: Path) -> None:
    tails = following(tmp_path)
    written(tmp_path, b"\x00\xff" * 1_200_000 + b"\nLoss nan\n")
    found = [match for now in range(5) for match in tails.look(now)]
    assert [match.text for match in found] == ["Loss nan"]


def test_last_lines_come_from_stderr_else_stdout(tmp_path: Path) -> None:
    assert last_lines(tmp_path, 1, 0) == ()
    written(tmp_path, "step 1\nstep 2\n")
    written(tmp_path, "  \n", stream="err")
    assert last_lines(tmp_path, 1, 0) == ("step 1", "step 2")
    written(tmp_path, "Traceback\nValueError: no\n", stream="err")
    assert last_lines(tmp_path, 1, 0) == ("Traceback", "ValueError: no")


def test_a_file_that_is_none_any_more_keeps_no_other_from_being_followed(tmp_path: Path) -> None:
    """A rank that put a folder in the place of its output ended its agent, and with it the word on its own exit."""
    tails = following(tmp_path)
    Path(log_path(str(tmp_path), 1, 0, "err")).mkdir(parents=True)
    Path(log_path(str(tmp_path), 1, 0, "out")).mkdir(parents=True)
    written(tmp_path, "Loss nan\n", rank=1)
    assert offsets(tails) == [(1, "out", 0)]
    assert last_lines(tmp_path, 1, 0) == ()


def test_last_lines_are_bounded(tmp_path: Path) -> None:
    written(tmp_path, "".join(f"{n} {'é' * 5000}\n" for n in range(50)), stream="err")
    found = last_lines(tmp_path, 1, 0)
    assert 0 < len(found) <= MAX_LINES
    assert all(len(line.encode()) <= MAX_LINE_LENGTH for line in found)
    assert found[-1].startswith("49 ")


def test_what_the_launcher_no_longer_keeps_is_passed_over_and_offsets_stay_true(tmp_path: Path) -> None:
    tails = following(tmp_path)
    path = written(tmp_path, b"x" * 131072 + b"cut\nLoss nan\n")
    punch(str(path), 0, 131072)
    assert offsets(tails) == [(0, "out", 131076)]
    written(tmp_path, "Loss nan\n")
    assert offsets(tails, 1) == [(0, "out", 131085)]
    assert last_lines(tmp_path, 1, 0)[-2:] == ("Loss nan", "Loss nan")
