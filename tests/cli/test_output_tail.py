"""A rank's output is shown once, whole lines only, through all its generations."""

from pathlib import Path

from keepstep.cli.output_tail import OutputTail, task_folders


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


def test_only_the_folders_of_the_job_s_tasks_are_looked_at(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "nodes" / "n1" / "tasks" / name).mkdir(parents=True)
    assert [path.name for path in task_folders(tmp_path, {"b"})] == ["b"]
