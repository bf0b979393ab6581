"""A command line becomes a job, or a refusal that names the thing and the remedy."""

from pathlib import Path

import pytest

from keepstep.asking.specification import entrypoint, specify
from keepstep.cli.errors import Refused
from keepstep.contracts.policy import Policy
from keepstep.contracts.topology import LARGEST_SPEC, Command, JobSpec, Module, Script


def spec(tmp_path: Path, *argv: str, nodes: int = 2, name: str | None = None, env: tuple[str, ...] = ()) -> JobSpec:
    return specify(argv, name=name, nodes=nodes, nproc=2, policy=Policy(), cwd=tmp_path, env=env)


def test_a_python_file_is_a_script_with_an_absolute_path(tmp_path: Path) -> None:
    (tmp_path / "Train_DDP.py").touch()
    job = spec(tmp_path, "Train_DDP.py", "--epochs", "3")
    assert job.entrypoint == Script(path=str(tmp_path / "Train_DDP.py"), args=("--epochs", "3"))
    assert (job.name, job.world_size, job.cwd) == ("train-ddp", 4, str(tmp_path))


def test_dash_m_is_a_module_and_anything_else_a_command(tmp_path: Path) -> None:
    assert entrypoint(["-m", "my.train", "-x"], cwd=tmp_path) == Module(name="my.train", args=("-x",))
    assert entrypoint(["sh", "-c", "exit 0"], cwd=tmp_path) == Command(argv=("sh", "-c", "exit 0"))


@pytest.mark.parametrize(
    ("argv", "remedy"),
    [
        ((), "after --"),
        (("-m",), "name of a module"),
        (("nowhere.py",), "is not there"),
        (("no-such-program-here",), "not found on PATH"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_remedy(tmp_path: Path, argv: tuple[str, ...], remedy: str) -> None:
    with pytest.raises(Refused, match=remedy):
        spec(tmp_path, *argv)


def test_a_nul_byte_which_no_program_can_be_given_is_refused(tmp_path: Path) -> None:
    for argv, env in ((("sh", "a\0b"), ()), (("sh",), ("A=\0",)), (("\0.py",), ())):
        with pytest.raises(Refused, match="NUL byte"):
            spec(tmp_path, *argv, env=env)
    with pytest.raises(Refused, match="NUL byte"):
        spec(tmp_path / "\0", "sh")


@pytest.mark.parametrize("name", ["a" * 5000, "a" * 5000 + ".py"])
def test_a_name_too_long_to_be_a_file_s_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match=r"is not there|was not found"):
        spec(tmp_path, name)


def test_a_number_out_of_range_names_its_option(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nodes: 0 is out of range; write at least 1"):
        spec(tmp_path, "sh", nodes=0)


@pytest.mark.parametrize("name", ["My Job", "a_b", "-a", ""])
def test_a_name_kubernetes_would_refuse_is_refused_in_words(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match=f'name: "{name}" is no name for a job; write up to 63 lower-case letters'):
        spec(tmp_path, "sh", name=name)


def test_an_environment_pair_without_a_value_is_refused(tmp_path: Path) -> None:
    assert spec(tmp_path, "sh", env=("A=b=c",)).env == {"A": "b=c"}
    with pytest.raises(Refused, match="NAME=VALUE"):
        spec(tmp_path, "sh", env=("A",))


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "KEEPSTEP_JOB"])
def test_a_variable_that_keepstep_sets_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match=f"--env {name}: keepstep sets"):
        spec(tmp_path, "sh", env=("A=b", f"{name}=5"))


def test_a_job_asks_for_injected_faults_by_its_environment(tmp_path: Path) -> None:
    assert spec(tmp_path, "sh", env=("KEEPSTEP_FAULTS=1",)).env == {"KEEPSTEP_FAULTS": "1"}


@pytest.mark.parametrize("garbled", [("sh", "\udcff"), ("\udcfe.py",)])
def test_bytes_that_are_no_text_are_refused_before_anything_starts(tmp_path: Path, garbled: tuple[str, ...]) -> None:
    (tmp_path / "\udcfe.py").touch()
    with pytest.raises(Refused, match="not UTF-8"):
        spec(tmp_path, *garbled)


def test_a_job_too_large_for_its_own_messages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="at most 262144 are taken"):
        spec(tmp_path, "sh", env=(f"A={'x' * LARGEST_SPEC}",))
