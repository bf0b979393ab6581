"""A training container as the init container leaves it: our scripts in front of whatever Python the image has."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from keepstep.agent.install import LAUNCH, SHIMS, install
from keepstep.contracts.topology import Command
from keepstep.trainer.waiting import note_end
from keepstep.trainer.wire import SOCKET, Decoder, encode
from tests.agent.makers import launch


class Container:
    """An image whose PATH holds one folder, and the volume of the pod."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "keepstep"
        self.image = folder / "image"
        self.image.mkdir()
        for name, target in (("python3", sys.executable), ("sh", "/bin/sh"), ("env", "/usr/bin/env")):
            (self.image / name).symlink_to(target)
        self.program("torchrun", 'echo "the real torchrun $*"')
        install(self.root)
        self.task = self.root / "task"

    def program(self, name: str, text: str) -> None:
        path = self.image / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def environ(self, **env: str) -> Mapping[str, str]:
        return {"PATH": str(self.image), "PWD": str(self.image), **env}

    def run(self, entry: str, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", self.root / entry, *command],
            env=self.environ(**env), cwd=self.image, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_installing_twice_changes_nothing(container: Container) -> None:
    before = sorted(path.relative_to(container.root) for path in container.root.rglob("*"))
    install(container.root)
    assert sorted(path.relative_to(container.root) for path in container.root.rglob("*")) == before
    assert not list(container.root.rglob("__pycache__"))
    assert (container.task.stat().st_mode & 0o777) == 0o777


async def dialled(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the launcher as soon as it listens; its file is there a moment before."""
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
                return await asyncio.open_unix_connection(str(path))
            await asyncio.sleep(0.01)


async def order_of(container: Container, entry: str, *command: str) -> tuple[str, list[str]]:
    """Give the container a task, start its one rank, and return what the rank printed and the exit codes."""
    container.program("report", 'echo "$0 $*"')
    given = launch(nproc=1, nodes=1, entrypoint=Command(argv=("bash", "-c", "...")))
    (container.task / "task.json").write_text(given.model_dump_json())
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", container.root / entry, *command, env=container.environ(), cwd=container.image,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    reader, writer = await dialled(container.task / SOCKET)
    rank = {"rank": 0, "local_rank": 0, "env": {"WORLD_SIZE": "1"}, "args": []}
    writer.write(encode({"do": "start", "generation": 1, "ranks": [rank]}))
    decoder, said = Decoder(), ""
    while said != "exit":
        said = next((line["say"] for line in decoder.feed(await reader.read(65536)) if line["say"] == "exit"), said)
    writer.write(encode({"do": "end", "code": 0}))
    written, _ = await process.communicate()
    assert process.returncode == 0
    out = (container.task / "logs" / "generation-1" / "rank-0.out").read_text()
    return out, written.decode().splitlines()


async def test_a_script_of_bash_meets_our_torchrun_and_after_the_job_the_images_own(container: Container) -> None:
    (container.image / "train.py").write_text("import os, sys; print('rank', os.environ['RANK'], sys.argv[1:])")
    text = "torchrun --nproc_per_node 1 train.py --lr 1; torchrun eval.py"
    out, written = await order_of(container, SHIMS, "sh", "-c", text)
    assert out == "rank 0 ['--lr', '1']\n"
    assert written == ["[rank0]: rank 0 ['--lr', '1']", "the real torchrun eval.py"]


async def test_a_script_of_bash_meets_our_python_where_it_starts_the_ranks_and_else_the_images_own(
    container: Container,
) -> None:
    (container.image / "train.py").write_text("import os, sys; print('rank', os.environ['RANK'], sys.argv[1:])")
    text = "python3 -c 'print(2)' a; python3 -m torch.distributed.run --nproc_per_node 1 train.py --lr '1 2'"
    out, written = await order_of(container, SHIMS, "sh", "-c", text)
    assert out == "rank 0 ['--lr', '1 2']\n"
    assert written == ["2", "[rank0]: rank 0 ['--lr', '1 2']"]


def test_a_python_that_the_image_lacks_is_told(container: Container) -> None:
    done = container.run(SHIMS, "python", "x.py")
    assert (done.returncode, done.stderr) == (127, "keepstep: python: not found in this image\n")


async def test_a_torchrun_that_is_the_containers_own_command_is_run_whole_where_it_is_not_understood(
    container: Container,
) -> None:
    out, _ = await order_of(container, LAUNCH, "torchrun", "--run-path", "x.py")
    assert out == "the real torchrun --run-path x.py\n"


async def test_a_command_nobody_knows_is_run_whole_as_the_one_rank(container: Container) -> None:
    out, _ = await order_of(container, LAUNCH, "report", "a", "b c")
    assert out.split(maxsplit=1)[1] == "a b c\n"


def test_a_rank_that_calls_torchrun_gets_the_images_own(container: Container) -> None:
    done = container.run(SHIMS, "torchrun", "x.py", KEEPSTEP_GENERATION="1")
    assert (done.returncode, done.stdout) == (0, "the real torchrun x.py\n")


def test_accelerate_config_is_none_of_our_business(container: Container) -> None:
    container.program("accelerate", 'echo "the real accelerate $* on $PATH"')
    done = container.run(SHIMS, "accelerate", "env")
    assert done.stdout == f"the real accelerate env on {container.image}\n"


def test_a_torchrun_that_is_not_understood_runs_nothing_and_says_so(container: Container) -> None:
    done = container.run(SHIMS, "torchrun", "--run-path", "x.py")
    assert (done.returncode, done.stdout) == (64, "")
    assert "keepstep: not understood, so nothing is run: torchrun --run-path x.py" in done.stderr


def test_a_job_with_another_number_of_ranks_than_the_command_is_refused(container: Container) -> None:
    (container.task / "task.json").write_text(launch(nproc=4).model_dump_json())
    done = container.run(LAUNCH, "torchrun", "--nproc_per_node", "8", "x.py")
    assert done.returncode == 2
    assert "the command asks for 8 ranks here, the job has 4 per task" in done.stderr


def test_the_python_of_the_named_command_runs_the_launcher(container: Container, tmp_path: Path) -> None:
    other = tmp_path / "venv"
    other.mkdir()
    seen = tmp_path / "seen"
    (other / "python3").write_text(f'#!/bin/sh\nprintf "%s " "$@" > {seen}\n')
    (other / "python3").chmod(0o755)
    (other / "torchrun").write_text("#!/bin/sh\n")
    (other / "torchrun").chmod(0o755)
    for command in (f"{other}/python3", f"{other}/torchrun"):
        container.run(LAUNCH, command, "x.py")
        assert seen.read_text() == f"{container.root}/lib/keepstep/trainer/pod.py {container.task} {command} x.py "
        seen.unlink()


def test_an_image_without_python_is_told_what_is_missing(container: Container) -> None:
    (container.image / "python3").unlink()
    done = container.run(LAUNCH, "./train")
    assert (done.returncode, done.stderr) == (
        127, "keepstep: this image has no Python on its PATH, which the launcher needs\n"
    )  # fmt: skip


@pytest.mark.parametrize("version", ["2.7", "3.6"])
def test_a_python_that_is_too_old_is_named(container: Container, version: str) -> None:
    old = next(iter(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")), None)
    if old is None:
        pytest.skip(f"no Python {version} on this machine")
    (container.image / "python3").unlink()
    (container.image / "python3").symlink_to(old)
    done = container.run(LAUNCH, "python3", "train.py", LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""))
    assert done.returncode == 78
    assert f"keepstep: the launcher needs Python 3.8 or newer, this image has {version}" in done.stderr


def test_the_end_of_a_task_is_written_down_in_one_piece(container: Container) -> None:
    note_end(str(container.task), "task-1")
    assert json.loads((container.task / "ended.json").read_text()) == {"task": "task-1"}
