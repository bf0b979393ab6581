"""Commands of containers and what they ask to train; what is not wholly understood asks for nothing."""

import shlex

import pytest

from keepstep.trainer.command import Asked, recognise
from keepstep.trainer.task import Kind, Run

THREADS = {"OMP_NUM_THREADS": "1"}


def script(target: str, *argv: str, nproc: int | None = 1, env: dict[str, str] | None = None) -> Run:
    return Run(Kind.SCRIPT, target, argv, nproc, env or {})


def module(target: str, *argv: str, nproc: int | None = 1, env: dict[str, str] | None = None) -> Run:
    return Run(Kind.MODULE, target, argv, nproc, env or {})


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("python train.py --lr 1", Asked(script("train.py", "--lr", "1", nproc=None), "python")),
        ("python3 -u /w/train.py", Asked(script("/w/train.py", nproc=None), "python")),
        ("/opt/conda/bin/python3.10 -m my.train -m x", Asked(module("my.train", "-m", "x", nproc=None), "python")),
        ("torchrun train.py", Asked(script("train.py"), "torchrun")),
        (
            "torchrun --nproc_per_node=8 --nnodes 2 train.py --nnodes 3",
            Asked(script("train.py", "--nnodes", "3", nproc=8, env=THREADS), "torchrun", 2),
        ),
        ("torchrun --nproc-per-node gpu t.py", Asked(script("t.py", nproc=None, env=THREADS), "torchrun")),
        ("torchrun --nnodes=2:4 t.py", Asked(script("t.py"), "torchrun", 4)),
        ("torchrun --standalone --nproc-per-node=1 t.py", Asked(script("t.py"), "torchrun", 1)),
        (
            "torchrun --rdzv_backend=c10d --rdzv-endpoint h:1 --max-restarts 3 -r 3 -m pkg.train a",
            Asked(module("pkg.train", "a"), "torchrun"),
        ),
        (
            "torchrun --no-python --nproc_per_node 2 ./run.sh x",
            Asked(Run(Kind.COMMAND, "", ("./run.sh", "x"), 2, THREADS), "torchrun"),
        ),
        (
            "python -u -m torch.distributed.run --nproc_per_node 2 t.py",
            Asked(script("t.py", nproc=2, env=THREADS), "torchrun"),
        ),
        ("python -m torch.distributed.launch --use_env t.py", Asked(script("t.py"), "torchrun")),
        (
            "accelerate launch --num_processes 16 --num_machines 2 --multi_gpu --mixed_precision bf16 t.py --x",
            Asked(
                script(
                    "t.py",
                    "--x",
                    nproc=8,
                    env={"ACCELERATE_MIXED_PRECISION": "bf16", "ACCELERATE_DYNAMO_BACKEND": "NO"},
                ),
                "accelerate",
                2,
            ),
        ),
    ],
)
def test_a_command_of_a_known_form_says_what_to_train(command: str, asked: Asked) -> None:
    assert recognise(shlex.split(command), {}) == asked


@pytest.mark.parametrize(
    "command",
    [
        "",
        "bash -c 'torchrun t.py'",
        "deepspeed train.py",
        "mpirun -np 2 python t.py",
        "python -O train.py",
        "python -c pass",
        "python",
        "python -m",
        "torchrun",
        "torchrun --nproc_per_node many t.py",
        "torchrun --nproc_per_node 0 t.py",
        "torchrun --run-path t.py",
        "torchrun --virtual-local-rank t.py",
        "torchrun --an-option-of-tomorrow t.py",
        "python -m torch.distributed.launch t.py",
        "accelerate config",
        "accelerate launch --use_deepspeed t.py",
        "accelerate launch --config_file c.yaml t.py",
        "accelerate launch --num_processes 3 --num_machines 2 t.py",
    ],
)
def test_a_command_that_is_not_understood_to_the_last_option_is_nobodys(command: str) -> None:
    assert recognise(shlex.split(command), {}) is None


def test_the_variables_that_torchrun_reads_stand_for_options_that_are_missing() -> None:
    told = {"PET_NPROC_PER_NODE": "4", "PET_NNODES": "3", "OMP_NUM_THREADS": "8"}
    assert recognise(["torchrun", "t.py"], told) == Asked(script("t.py", nproc=4), "torchrun", 3)
    assert recognise(["torchrun", "--nproc-per-node=2", "--nnodes=1", "t.py"], told) == Asked(
        script("t.py", nproc=2), "torchrun", 1
    )
    assert recognise(["python", "t.py"], told) == Asked(script("t.py", nproc=None), "python")
