"""The trainer enters any image: every file parses as Python 3.8, and where one is installed, it runs there."""

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from keepstep.trainer import wire
from tests.trainer.desk import Desk, script

FILES = sorted(Path(wire.__file__).parent.rglob("*.py"))


def _python38() -> str | None:
    candidates = [shutil.which("python3.8"), *map(str, Path.home().glob(".pyenv/versions/3.8.*/bin/python"))]
    for candidate in candidates:
        if candidate and subprocess.run([candidate, "-c", ""], check=False).returncode == 0:
            return candidate
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_python_3_8_and_stands_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    foreign = {name for name in names if name.startswith("keepstep") and not name.startswith("keepstep.trainer")}
    assert foreign <= {"keepstep"}


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_rank_steps_and_fails_under_python_3_8(tmp_path: Path, warm: bool) -> None:
    python = _python38()
    if python is None:
        pytest.skip("no Python 3.8 on this machine")
    source = (
        "from keepstep import trainer\ntrainer.phase('load').__enter__()\ntrainer.step(3)\nraise ValueError('bad')\n"
    )
    trainer = {"warm_ranks": int(warm), "preload": ["json"]}
    with Desk(tmp_path, script(tmp_path, source), trainer=trainer, python=python) as desk:
        if warm:
            desk.hear("warm")
        assert desk.start()[0]["warm"] is warm
        assert desk.hear("exit")["code"] == 1
        assert desk.output("err") == (
            f'Traceback (most recent call last):\n  File "{tmp_path}/script.py", line 4, in <module>\n'
            "    raise ValueError('bad')\nValueError: bad\n"
        )
        assert desk.slot().step == 3
