"""The agent's side of a real launcher: starts one on a task directory, gives orders, hears answers within a bound."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from keepstep.trainer import progress, wire

LIMIT_S = 100.0
"""A spare that imports torch on a machine with other work takes half a minute."""
LIBS = str(Path(wire.__file__).parents[2])

QUICK = {"warm_ranks": 0, "stop_grace": "PT0.5S", "kill_deadline": "PT5S"}
SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"
"""A rank that waits for its end."""

Said = dict[str, Any]


def eventually(holds: Callable[[], object], limit: float = LIMIT_S) -> None:
    """Wait until a condition holds; fail after the limit."""
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.005)


def gone(pid: int) -> bool:
    """Say whether a process is gone, or only waits to be reaped by someone else."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


class Desk:
    """One task: its directory, its launcher, and the connection of an agent."""

    def __init__(
        self,
        directory: Path,
        entrypoint: dict[str, Any],
        *,
        nproc: int = 1,
        env: dict[str, str] | None = None,
        trainer: dict[str, Any] | None = None,
        python: str = sys.executable,
        launcher: tuple[str, ...] = (),
        shows: int | None = None,
        echo: str | None = None,
    ) -> None:
        """Start it; ``launcher`` are options of it, ``shows`` where its own output goes, ``echo`` what is shown."""
        self.directory = directory
        self.nproc = nproc
        spec = {
            "name": "job",
            "entrypoint": entrypoint,
            "nproc": nproc,
            "cwd": str(directory),
            "env": env or {},
            "policy": {
                "trainer": {"warm_ranks": 0, "stop_grace": "PT0.5S", "kill_deadline": "PT5S", **(trainer or {})}
            },
        }
        task = {"name": "task-0", "uid": "task-uid", "index": 0}
        launch = {"pool": "default", "job": {"name": "job", "uid": "job-uid"}, "task": task, "spec": spec}
        (directory / "task.json").write_text(json.dumps(launch))
        self.launcher = subprocess.Popen(
            [python, "-m", "keepstep.trainer.launch", "--dir", str(directory), *launcher],
            env={**os.environ, "PYTHONPATH": LIBS, **({} if echo is None else {"KEEPSTEP_ECHO": echo})},
            stdout=shows,
            stderr=(directory / "launcher.log").open("wb"),
        )
        eventually((directory / wire.SOCKET).exists)
        self._heard: list[Said] = []
        self.connect()

    def connect(self) -> Said:
        """Connect as a new agent and return the launcher's hello."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(LIMIT_S)
        eventually(self._reach)
        self._decoder = wire.Decoder()
        self._heard = []
        return self.hear("hello")

    def _reach(self) -> bool:
        try:
            self._socket.connect(str(self.directory / wire.SOCKET))
        except ConnectionRefusedError:
            return False
        return True

    def send(self, text: bytes) -> None:
        """Send raw bytes."""
        self._socket.sendall(text)

    def say(self, do: str, **order: Any) -> None:
        """Give an order."""
        self.send(wire.encode({"do": do, **order}))

    def hear(self, say: str) -> Said:
        """Return the next line of this kind; others stay to be heard."""
        while True:
            for line in self._heard:
                if line["say"] == say:
                    self._heard.remove(line)
                    return line
            received = self._socket.recv(1 << 16)
            assert received, f"the launcher hung up before it said {say}"
            self._heard += self._decoder.feed(received)

    def hung_up(self) -> bool:
        """Wait for the launcher to close the connection."""
        while self._socket.recv(1 << 16):
            pass
        return True

    def start(self, generation: int = 1, args: tuple[str, ...] = (), **env: str) -> list[Said]:
        """Start all ranks of a generation and return them as the launcher tells them."""
        ranks = [
            {"rank": slot, "local_rank": slot, "env": {"WORLD_SIZE": str(self.nproc), **env}, "args": list(args)}
            for slot in range(self.nproc)
        ]
        self.say("start", generation=generation, ranks=ranks)
        return list(self.hear("started")["ranks"])

    def stop(self, generation: int = 1, grace_s: float = 0.5, kill_s: float = 5.0) -> Said:
        """Stop up to a generation and return the launcher's answer."""
        self.say("stop", generation=generation, grace_s=grace_s, kill_s=kill_s)
        return self.hear("stopped")

    def output(self, stream: str = "out", *, rank: int = 0, generation: int = 1) -> str:
        """Return what a rank has written so far."""
        return Path(wire.log_path(str(self.directory), generation, rank, stream)).read_text()

    def wait_for_output(self, text: str, *, rank: int = 0, generation: int = 1) -> None:
        """Wait until a rank has printed something."""
        eventually(lambda: text in self.output(rank=rank, generation=generation))

    def slot(self, local_rank: int = 0) -> progress.Slot:
        """Return a copy of a rank's slot of the progress page."""
        return progress.Page(str(self.directory / wire.PAGE)).read(local_rank)

    def __enter__(self) -> Self:
        """Be the desk."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection and end the launcher, if it is still there."""
        self._socket.close()
        if self.launcher.poll() is None:
            self.launcher.terminate()
        self.launcher.wait(LIMIT_S)


def script(directory: Path, source: str, name: str = "script.py", args: tuple[str, ...] = ()) -> dict[str, Any]:
    """Write a script and return its entrypoint."""
    path = directory / name
    path.write_text(source)
    return {"kind": "script", "path": str(path), "args": list(args)}
