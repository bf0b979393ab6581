"""The example trainings are real: they resume to the same losses, and say their steps or say nothing."""

import ast
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.desk import Desk

EXAMPLES = Path(__file__).parents[2] / "examples"


def _train(*arguments: str, **env: str) -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    rendezvous = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return subprocess.run(
        [sys.executable, EXAMPLES / "train_ddp.py", *arguments],
        env={**os.environ, **rendezvous, **env},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("name", ["train_ddp.py", "faults.py"])
def test_the_training_that_is_recovered_imports_nothing_of_keepstep(name: str) -> None:
    """Its checkpoints are PyTorch's own: a framework's save and load are enough."""
    tree = ast.parse((EXAMPLES / name).read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "torch" in plain
    assert not [module for module in plain | named if module.partition(".")[0] == "keepstep"]


def test_a_resumed_training_makes_bitwise_the_same_losses(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    whole, rest = tmp_path / "whole.jsonl", tmp_path / "rest.jsonl"
    folder = ["--checkpoint-dir", str(tmp_path / "saved"), "--save-every", "3"]
    _train("--steps", "7", *folder, "--losses", str(whole), "--nan-at", "2", "--eval-at", "1", "--eval-seconds", "0")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["step-3.pt", "step-6.pt"]
    output = _train("--steps", "7", "--losses", str(rest), KEEPSTEP_RESUME_PATH=str(tmp_path / "saved" / "step-3.pt"))
    losses = [json.loads(line) for line in whole.read_text().splitlines()]
    assert [loss["step"] for loss in losses] == [1, 2, 3, 4, 5, 6, 7]
    assert [json.loads(line) for line in rest.read_text().splitlines()] == losses[3:]
    assert output.splitlines()[0].startswith("step 4 loss ")


def test_the_plain_loop_says_its_steps_and_resumes(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    arguments = ["--steps", "20", "--step-seconds", "0", "--checkpoint-dir", str(saved)]
    entrypoint = {"kind": "script", "path": str(EXAMPLES / "plain_loop.py"), "args": arguments}
    with Desk(tmp_path, entrypoint) as desk:
        desk.start(KEEPSTEP_RESUME_STEP="")
        assert desk.hear("exit")["code"] == 0, desk.output("err")
        assert (desk.slot().step, desk.slot().estimated) == (20, False)
        (saved / "step-20.json").unlink()
        desk.stop()
        desk.start(2, KEEPSTEP_RESUME_STEP="10", KEEPSTEP_RESUME_PATH=str(saved / "step-10.json"))
        assert desk.hear("exit")["code"] == 0
        assert desk.output(generation=2) == desk.output() == "total 2870 after step 20\n"
        assert (desk.slot().marks, desk.slot().resume_step) == (10, 10)


def test_a_job_without_marks_shows_only_that_it_lives(tmp_path: Path) -> None:
    entrypoint = {"kind": "script", "path": str(EXAMPLES / "no_marks.py"), "args": ["--seconds", "0"]}
    with Desk(tmp_path, entrypoint) as desk:
        desk.start()
        assert desk.hear("exit")["code"] == 0
        assert desk.slot().marks == 0
