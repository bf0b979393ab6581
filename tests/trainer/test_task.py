"""What the launcher reads of the specification that pydantic wrote."""

from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.policy import Policy, TrainerPolicy
from keepstep.contracts.topology import Command, JobRef, JobSpec, Module, Script, TaskLaunch, TaskRef
from keepstep.trainer.task import Kind, Run, Task, read, seconds


@pytest.mark.parametrize("period", [0.0, 0.15, 3.0, 61.5, 3600.0, 90061.25])
def test_a_duration_of_the_contracts_is_read_in_seconds(period: float) -> None:
    policy = Policy(trainer=TrainerPolicy(stop_grace=timedelta(seconds=period)))
    text = policy.model_dump(mode="json")["trainer"]["stop_grace"]
    assert seconds(text) == pytest.approx(period)


@pytest.mark.parametrize("text", ["", "3 s", "-PT1S", "P1Y"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        seconds(text)


def _read(directory: Path, spec: JobSpec) -> Task:
    launch = TaskLaunch(
        pool="default",
        job=JobRef(name="j", uid=JobUid("J")),
        task=TaskRef(name="j-0", uid=TaskUid("T"), index=0),
        spec=spec,
    )
    (directory / "task.json").write_text(launch.model_dump_json())
    return read(str(directory))


def test_a_job_without_a_policy_keeps_a_spare_per_local_rank(tmp_path: Path) -> None:
    task = _read(tmp_path, JobSpec(name="j", entrypoint=Script(path="/t.py", args=("a",)), nproc=3, cwd="/w"))
    assert (task.kind, task.target, task.argv, task.cwd) == ("script", "/t.py", ("a",), "/w")
    assert (task.warm_ranks, task.preload, task.grace_s, task.kill_s) == (3, None, 3.0, 5.0)


def test_modules_and_commands_keep_their_form(tmp_path: Path) -> None:
    module = _read(tmp_path, JobSpec(name="j", entrypoint=Module(name="a.b")))
    command = _read(tmp_path, JobSpec(name="j", entrypoint=Command(argv=("sh", "-c", "x"))))
    assert (module.kind, module.target, module.argv) == ("module", "a.b", ())
    assert (command.kind, command.argv, command.warm_ranks) == ("command", ("sh", "-c", "x"), 0)


def test_what_a_pods_command_asks_to_run_takes_the_place_of_the_entrypoint(tmp_path: Path) -> None:
    _read(tmp_path, JobSpec(name="j", entrypoint=Command(argv=("bash", "-c", "x")), nproc=2))
    run = Run(Kind.SCRIPT, "train.py", ("--lr", "1"), 2)
    task = read(str(tmp_path), Run.parse(run.text()))
    assert (task.kind, task.target, task.argv, task.warm_ranks) == ("script", "train.py", ("--lr", "1"), 2)


def test_a_command_that_asks_for_another_number_of_ranks_is_refused(tmp_path: Path) -> None:
    _read(tmp_path, JobSpec(name="j", entrypoint=Command(argv=("bash", "-c", "x")), nproc=2))
    with pytest.raises(ValueError, match="asks for 8 ranks here, the job has 2 per task"):
        read(str(tmp_path), Run(Kind.MODULE, "a.b", (), 8))
