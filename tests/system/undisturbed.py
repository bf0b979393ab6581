"""The example training as it is when nothing happens to it and keepstep is not there."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.system.record import read_losses

TRAIN = str(Path(__file__).parents[2] / "examples" / "train_ddp.py")


def undisturbed_losses(folder: Path, *, ranks: int, steps: int) -> dict[int, float]:
    """Train with so many plain processes in a gang, and return the loss of every step."""
    losses = folder / "losses.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    common = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    gang = [
        subprocess.Popen(
            [sys.executable, TRAIN, "--steps", str(steps), "--losses", str(losses)],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.DEVNULL,
        )
        for rank in range(ranks)
    ]
    assert [rank.wait(120) for rank in gang] == [0] * ranks
    return read_losses(losses)
