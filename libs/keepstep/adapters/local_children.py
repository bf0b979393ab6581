"""The processes that a supervisor starts: each dies with it, and each exit is known at once."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from keepstep.adapters.local_processes import adopt_orphans, die_with


class ChildProcess:
    """A started process; ``exited`` becomes its exit code, negative for a signal."""

    def __init__(self, process: "subprocess.Popen[bytes]", exited: "asyncio.Future[int]") -> None:
        self._process, self.exited = process, exited
        self.pid = process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal unless the process has been reaped: until then its pid cannot be another's."""
        if not self.exited.done():
            os.kill(self.pid, number)

    async def ends_within(self, limit_s: float) -> bool:
        """Wait for the exit for at most ``limit_s`` seconds; return whether it came."""
        await asyncio.wait([self.exited], timeout=limit_s)
        return self.exited.done()

    def reaped(self, code: int) -> None:
        """Record the exit code that the supervisor got from the kernel."""
        self._process.returncode = code
        self.exited.set_result(code)


class Children:
    """All children of this process, adopted orphans included; one per process, on the main thread."""

    def __init__(self) -> None:
        self._known: dict[int, ChildProcess] = {}
        self._die_with_us = die_with(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Hear of exits through SIGCHLD and adopt orphans; needs the running loop of the main thread."""
        adopt_orphans()
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> ChildProcess:
        """Start a process in its own session, its output appended to ``log``; raises OSError if it cannot start."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._die_with_us,  # noqa: PLW1509 - the supervisor has one thread
            )
        child = ChildProcess(process, asyncio.get_running_loop().create_future())
        self._known[child.pid] = child
        return child

    def pids(self) -> frozenset[int]:
        """Return the pids of the children that were started here and live."""
        return frozenset(self._known)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._known.pop(pid, None)
            if child is not None:
                child.reaped(os.waitstatus_to_exitcode(status))


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with this interpreter."""
    return (sys.executable, "-m", module, *arguments)


def describe(code: int) -> str:
    """Return an exit code in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
