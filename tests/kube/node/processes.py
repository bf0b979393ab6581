"""Starts the programs of ``container.py`` and tells when they have begun, why they have not, and when they ended."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_TREE = Path(__file__).parents[3]
_PROGRAM = "tests.kube.node.container"
_LONGEST = 4096


@dataclass(frozen=True)
class Bind:
    """A file or folder of the machine that a container sees under a path of its own."""

    source: str
    target: str
    readonly: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """What ``container.py`` is told; ``sandbox`` is the pause whose process namespace it joins, None for its own."""

    sandbox: int | None
    hostname: str
    binds: Sequence[Bind]
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str


class Started:
    """One program of ``container.py``; ``begun`` hears "" or what kept it from starting, ``ended`` its exit code."""

    def __init__(
        self,
        words: Sequence[str],
        output: Path | None,
        *,
        begun: Callable[[str], None],
        ended: Callable[[int], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun, self._ended = begun, ended
        self._report, write = os.pipe()
        what, *rest = words
        command = [sys.executable, "-E", "-s", "-S", "-m", _PROGRAM, what, str(os.getpid()), str(write), *rest]
        with (output or Path(os.devnull)).open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[write], env={}, cwd=_TREE
            )
        os.close(write)
        self._exit = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._report, self._hear_report)
        self._loop.add_reader(self._exit, self._hear_exit)

    @property
    def pid(self) -> int:
        """Return the pid of the program that stands between, on this machine."""
        return self._process.pid

    def terminate(self) -> None:
        """Send SIGTERM to the container's first process."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill the container's first process, and all others with it."""
        self._process.send_signal(signal.SIGUSR1)

    def close(self) -> None:
        """Kill it with all that hangs on it, wait until nothing is left and tell nobody."""
        self._stop_hearing_report()
        if self._exit >= 0:
            self.kill()
            self._stop_hearing_exit()
            self._process.wait()

    def _hear_report(self) -> None:
        why = os.read(self._report, _LONGEST).decode(errors="replace")
        self._stop_hearing_report()
        self._begun(why)

    def _hear_exit(self) -> None:
        if self._report >= 0:
            self._hear_report()
        self._stop_hearing_exit()
        code = self._process.wait()
        self._ended(128 - code if code < 0 else code)

    def _stop_hearing_report(self) -> None:
        if self._report >= 0:
            self._loop.remove_reader(self._report)
            os.close(self._report)
            self._report = -1

    def _stop_hearing_exit(self) -> None:
        self._loop.remove_reader(self._exit)
        os.close(self._exit)
        self._exit = -1


def start_pause(*, begun: Callable[[str], None], ended: Callable[[int], None]) -> Started:
    """Start what holds a pod's process namespace."""
    return Started(["pause"], None, begun=begun, ended=ended)


def start_container(
    spec: ContainerSpec, file: Path, output: Path, *, begun: Callable[[str], None], ended: Callable[[int], None]
) -> Started:
    """Start a container; ``file`` is where its specification is written, ``output`` its log."""
    file.write_text(json.dumps(asdict(spec)), encoding="utf-8")
    return Started(["run", str(file)], output, begun=begun, ended=ended)


def members(pause_or_container: int) -> list[int]:
    """Return the pids, on this machine, of the processes in the namespace that this program made or joined."""
    namespace = _link(Path(f"/proc/{pause_or_container}/ns/pid_for_children"))
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    return sorted(int(path.name) for path in processes if namespace and _link(path / "ns" / "pid") == namespace)


def _link(path: Path) -> str:
    """Return where a link of a process leads, "" if the process is gone."""
    try:
        return str(path.readlink())
    except OSError:
        return ""
