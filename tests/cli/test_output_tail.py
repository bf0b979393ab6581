"""A rank's output is shown once, whole lines only, through all its generations."""

from pathlib import Path

import pytest

from keepstep.cli.output_tail import CHUNK, MOST_BEHIND, OutputTail, task_folders


def write(folder: Path, generation: int, text: str) -> None:
    target = folder / "logs" / f"generation-{generation}"
    target.mkdir(parents=True, exist_ok=True)
    with (target / "rank-0.out").open("a") as file:
        file.write(text)


def test_lines_come_once_and_in_order_of_generations(tmp_path: Path) -> None:
    tail = OutputTail(0)
    write(tmp_path, 2, "two\n")
    write(tmp_path, 1, "one\nhal")
    assert list(tail.lines([tmp_path])) == ["one", "two"]
    write(tmp_path, 1, "f\n")
    write(tmp_path, 10, "ten\n")
    assert list(tail.lines([tmp_path])) == ["half", "ten"]
    assert list(tail.lines([tmp_path])) == []


def test_a_last_line_without_its_end_is_shown_at_the_end(tmp_path: Path) -> None:
    tail = OutputTail(0)
    write(tmp_path, 1, "no end")
    assert list(tail.lines([tmp_path])) == []
    assert list(tail.lines([tmp_path], last=True)) == ["no end"]


@pytest.mark.parametrize("last", [False, True])
def test_a_rank_that_floods_its_output_is_followed_at_its_end(tmp_path: Path, last: bool) -> None:
    """At the end of a run the whole rest was read at once: gigabytes, into the process that holds the services."""
    tail = OutputTail(0)
    write(tmp_path, 1, "first\n")
    assert list(tail.lines([tmp_path])) == ["first"]
    flood = "flood\n" * (MOST_BEHIND // 2)
    write(tmp_path, 1, f"{flood}last\n")
    told, *lines = tail.lines([tmp_path], last=last)
    assert told.startswith(f"({len(flood) + len('last') + 1 - CHUNK} bytes were left out")
    assert lines[-1] == "last"
    assert sum(len(line) + 1 for line in lines) <= CHUNK


def test_output_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    tail = OutputTail(0)
    (tmp_path / "logs" / "generation-1" / "rank-0.out").mkdir(parents=True)
    write(tmp_path, 2, "two\n")
    assert list(tail.lines([tmp_path])) == ["two"]


def test_only_the_folders_of_the_job_s_tasks_are_looked_at(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "nodes" / "n1" / "tasks" / name).mkdir(parents=True)
    assert [path.name for path in task_folders(tmp_path, {"b"})] == ["b"]


def test_a_line_without_bound_is_shown_to_its_bound_with_how_much_there_is_more(tmp_path: Path) -> None:
    tail = OutputTail(0)
    write(tmp_path, 1, "x" * 100_000 + "\nnext\n")
    line, after = tail.lines([tmp_path])
    assert line == f"{'x' * 1999}… (98001 more characters)"
    assert after == "next"
