"""The variables and arguments a rank starts with."""

from pathlib import Path
from typing import Any

import pytest

from keepstep.agent.environment import rank_environment, resume_arguments
from tests.agent.makers import entry, head, launch


def test_a_rank_gets_torchs_and_keepsteps_variables() -> None:
    plan = head(2, resume_step=10, resume_path="/ckpt/step-10.pt")
    assert rank_environment(launch(), plan, entry(2), local_rank=1, task_dir=Path("/t")) == {
        "RANK": "3",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "4",
        "LOCAL_WORLD_SIZE": "2",
        "NODE_RANK": "1",
        "GROUP_RANK": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "4000",
        "KEEPSTEP_RESUME_STEP": "10",
        "KEEPSTEP_RESUME_PATH": "/ckpt/step-10.pt",
        "KEEPSTEP_GENERATION": "2",
        "KEEPSTEP_TASK_DIR": "/t",
        "KEEPSTEP_TASK_UID": "task-1",
        "KEEPSTEP_JOB": "bert",
        "KEEPSTEP_NODE": "n1",
    }


def test_from_scratch_the_resume_variables_are_empty() -> None:
    found = rank_environment(launch(), head(1), entry(1), local_rank=0, task_dir=Path("/t"))
    assert (found["KEEPSTEP_RESUME_STEP"], found["KEEPSTEP_RESUME_PATH"]) == ("", "")


@pytest.mark.parametrize(
    ("template", "fields", "expected"),
    [
        ("--resume={path}", {"resume_step": 5, "resume_path": "/c/5"}, ["--resume=/c/5"]),
        ("--from-step={step}", {"resume_step": 0, "resume_path": "/c/0"}, ["--from-step=0"]),
        ('--config={"resume": "{path}"}', {"resume_step": 5, "resume_path": "/c/5"}, ['--config={"resume": "/c/5"}']),
        ("--resume={path}", {}, []),
        (None, {"resume_step": 5, "resume_path": "/c/5"}, []),
    ],
)
def test_the_resume_argument(template: str | None, fields: dict[str, Any], expected: list[str]) -> None:
    assert resume_arguments(template, head(2, **fields)) == expected
