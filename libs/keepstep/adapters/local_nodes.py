"""Starts, stops, loses and revives local nodes, for commands and tests; each node dies with the calling process."""

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from keepstep.adapters.local_children import python
from keepstep.adapters.local_files import NodeFolder, folders, plain
from keepstep.adapters.local_processes import of_node, sweep
from keepstep.adapters.local_task import Commands
from keepstep.contracts.ids import NodeName
from keepstep.ports.errors import Permanent

START_LIMIT_S = 30.0
"""An interpreter with pydantic starts in 0.5 s on a quiet machine; eight at once on two busy cores take 10 s."""
STOP_MARGIN_S = 10.0
"""Above the tasks' grace: the agents' two graces of 2 s, and room."""


class LocalNodes:
    """The nodes that this process started below a cluster folder. Calls block; see each for how long."""

    def __init__(
        self,
        cluster: Path,
        *,
        env: Mapping[str, str] | None = None,
        commands: Commands | None = None,
        grace_s: float = 5.0,
    ) -> None:
        """Take the cluster's folder and what agents get in their environment above ours (KEEPSTEP_NATS_URL, ...)."""
        self._cluster = cluster.resolve()
        self._env = dict(env or {})
        self._commands, self._grace_s = commands, grace_s
        self._supervisors: dict[NodeName, subprocess.Popen[bytes]] = {}
        self._stops = 0
        """How often all were stopped: a start in another thread makes no more nodes then."""
        self._spawning = threading.Lock()
        """Held while a node is made and noted: whoever stops all sees it then."""

    def start(self, name: str, group: str | None = None, *, slots: int | None = None) -> "subprocess.Popen[bytes]":
        """Start a node and return its supervisor once it takes tasks, about 0.5 s later; raises Permanent if it fails.

        ``group`` and ``slots`` are kept for later starts of the same node.
        """
        return self.start_all([name], group, slots=slots)[0]

    def start_all(
        self, names: Sequence[str], group: str | None = None, *, slots: int | None = None
    ) -> "list[subprocess.Popen[bytes]]":
        """Start several nodes at once and return when all take tasks; raises Permanent for one that fails."""
        stops, started = self._stops, []
        for name in names:
            with self._spawning:
                if self._stops != stops:
                    raise Permanent(f"node {name} was not started: all nodes are being stopped")
                started.append(self._spawn(self.folder(name), group, slots))
        failures = [why for each in started if (why := _until_ready(*each)) is not None]
        if failures:
            raise Permanent("; ".join(failures))
        return [process for _, process, _ in started]

    def folder(self, name: str) -> NodeFolder:
        """Return the folder of a node; raises Permanent if the name cannot be one."""
        return NodeFolder(self._cluster / "nodes" / plain(name, "node name"))

    def stop(self, name: str) -> None:
        """Stop a node in an orderly way; returns when nothing of it runs, after the tasks' grace at most plus 10 s."""
        process = self._supervisors.get(NodeName(name))
        if process is not None and process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self._grace_s + STOP_MARGIN_S)
        self.lose(name)

    def stop_all(self) -> None:
        """Stop all nodes that were started here, side by side; those too that another thread starts just now."""
        self._no_more()
        for process in tuple(self._supervisors.values()):
            if process.poll() is None:
                process.terminate()
        for name in tuple(self._supervisors):
            self.stop(name)

    def lose_all(self) -> None:
        """Take all nodes that were started here away at once; also while another thread starts or stops them."""
        self._no_more()
        for process in tuple(self._supervisors.values()):
            process.kill()
        for name in tuple(self._supervisors):
            self.lose(name)

    def _no_more(self) -> None:
        """Let no start go on, and wait for the node that is just being made: it is noted then."""
        self._stops += 1
        with self._spawning:
            pass

    def lose(self, name: str) -> None:
        """Take a node away at once, with everything on it; returns when its processes are gone."""
        lose(self.folder(name))
        process = self._supervisors.pop(NodeName(name), None)
        if process is not None:
            process.wait()

    def revive(self, name: str) -> "subprocess.Popen[bytes]":
        """Bring a lost node back, with no tasks."""
        return self.start(name)

    def names(self) -> tuple[NodeName, ...]:
        """Return the nodes of the cluster, lost ones included."""
        return tuple(folder.name for folder in folders(self._cluster))

    def _spawn(
        self, folder: NodeFolder, group: str | None, slots: int | None
    ) -> "tuple[NodeFolder, subprocess.Popen[bytes], int]":
        folder.root.mkdir(parents=True, exist_ok=True)
        ready, say_ready = os.pipe()
        with (folder.root / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(
                self._command(folder, group, slots, say_ready),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[say_ready],
                env=os.environ | self._env,
            )
        os.close(say_ready)
        self._supervisors[folder.name] = process
        return folder, process, ready

    def _command(self, folder: NodeFolder, group: str | None, slots: int | None, ready: int) -> Sequence[str]:
        said = {
            "--dir": str(folder.root),
            "--parent": str(os.getpid()),
            "--ready-fd": str(ready),
            "--grace": str(self._grace_s),
            "--group": group,
            "--slots": None if slots is None else str(slots),
            "--commands": None if self._commands is None else self._commands.model_dump_json(),
        }
        arguments = [part for name, value in said.items() if value is not None for part in (name, value)]
        return python("keepstep.adapters.local_node", *arguments)


def lose(folder: NodeFolder) -> None:
    """Kill a node's supervisor, whoever started it, and then everything on the node."""
    pid = folder.supervisor()
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pause in sweep(of_node(folder.root)):
        time.sleep(pause)


def _until_ready(folder: NodeFolder, process: "subprocess.Popen[bytes]", ready: int) -> str | None:
    """Wait until the supervisor listens; return what went wrong, or None."""
    try:
        readable, _, _ = select.select([ready], [], [], START_LIMIT_S)
        if readable and os.read(ready, 1):
            return None
    finally:
        os.close(ready)
    process.kill()
    process.wait()
    words = (folder.root / "supervisor.log").read_text(errors="replace").strip().splitlines()
    return f"node {folder.name} did not start: {words[-1] if words else 'no word'}"
