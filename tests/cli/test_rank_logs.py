"""What a rank printed is found by rank, generation and stream, each file under its own name."""

import json
from pathlib import Path

import pytest

from keepstep.cli import main, places
from keepstep.cli.rank_logs import rank_logs
from keepstep.contracts import events as e
from keepstep.trainer.system import punch
from tests.cli.test_main import finished
from tests.core.test_timeline import fields

BOTH = ("stdout", "stderr")


def printed(task: Path, generation: int, rank: int, stream: str, content: bytes) -> None:
    path = task / "logs" / f"generation-{generation}" / f"rank-{rank}.{stream}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_logs_come_in_the_order_of_generations_stdout_first(tmp_path: Path) -> None:
    for generation in (10, 2):
        for stream in ("err", "out"):
            printed(tmp_path, generation, 1, stream, b"x\n")
    printed(tmp_path, 2, 11, "out", b"another rank\n")
    (tmp_path / "logs" / "generation-2" / "rank-1.out.tmp").touch()
    found = rank_logs([tmp_path], rank=1, generation=None, streams=BOTH)
    assert [(log.generation, log.stream) for log in found] == [
        (2, "stdout"),
        (2, "stderr"),
        (10, "stdout"),
        (10, "stderr"),
    ]
    assert [log.path.name for log in rank_logs([tmp_path], rank=1, generation=10, streams=["stderr"])] == ["rank-1.err"]
    assert len(rank_logs([tmp_path], rank=None, generation=None, streams=BOTH)) == 5


def test_lines_are_whole_whatever_bytes_are_in_them(tmp_path: Path) -> None:
    printed(tmp_path, 1, 0, "out", b"one\r\n\xff\nno end")
    (log,) = rank_logs([tmp_path], rank=0, generation=1, streams=BOTH)
    assert list(log.lines()) == ["one", "\ufffd", "no end"]


def joined(task: str) -> e.TaskJoined:
    ref = {"name": task, "uid": task, "index": 0}
    return e.TaskJoined.model_validate(
        fields("joined", 1, task=task, ref=ref, address="a", port_offers=(1,), versions={"python": "3"}, warm_ready=0)
    )


def test_job_logs_shows_both_streams_under_their_files_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finished(tmp_path, "train", joined("t0"))
    (run,) = places.told_runs(tmp_path / ".keepstep")
    task = run / "cluster" / "nodes" / "n1" / "tasks" / "t0"
    printed(task, 1, 0, "out", b"step 1\n")
    printed(task, 1, 0, "err", b"Traceback\n")
    assert main.run(["job", "logs", "train"]) == 0
    out = capsys.readouterr().out.splitlines()
    folder = task / "logs" / "generation-1"
    assert out == [
        f"==> rank 0, generation 1, stdout: {folder / 'rank-0.out'} <==",
        "step 1",
        f"==> rank 0, generation 1, stderr: {folder / 'rank-0.err'} <==",
        "Traceback",
    ]
    assert main.run(["job", "logs", "train", "--stderr", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["stream"], one["lines"]) == ("stderr", ["Traceback"])
    for refused, why in (
        (("--rank", "7"), "rank 7 of job train left no"),
        (("--generation", "3"), "generation 3 here"),
    ):
        assert main.run(["job", "logs", "train", *refused]) == 1
        assert why in capsys.readouterr().err


def test_what_is_no_longer_kept_is_told_and_not_shown(tmp_path: Path) -> None:
    printed(tmp_path, 1, 0, "out", b"x" * 131072 + b"cut\nwhole\n")
    (log,) = rank_logs([tmp_path], rank=0, generation=1, streams=["stdout"])
    punch(str(log.path), 0, 131072)
    assert list(log.lines()) == ["whole"]
    assert log.mark.endswith("its first 131072 bytes no longer kept <==")
    assert log.as_object()["dropped_bytes"] == 131072
