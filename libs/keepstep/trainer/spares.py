"""The launcher's stock of spare interpreters: spawned, never forked, few at a time, at low priority.

A start takes a ready spare, else the one that has been warming longest (it stops importing as soon as its plan is
there, so it is never behind a cold start), else a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from keepstep.trainer import cgroup, hugepages, preload, system
from keepstep.trainer.loop import Loop
from keepstep.trainer.task import Kind, Task

REFILL_AFTER_S = 0.5
"""From the first step of all ranks: the restart has its cores to itself until it is over, and a fault that comes before
the spares are ready costs a cold start."""
CORES_PER_REFILL = 4
"""One spare is warming per so many cores: one at a time on a laptop, all of a node of eight devices together."""
REFILL_LATEST_S = 30.0
"""From a start, for ranks that give no marks."""
LOOK_EVERY_S = 0.5
"""How often the time for the next spare is looked for, while one is missing."""
GIVE_UP_AFTER = 3
"""Spares that died while warming, in a row, after which starts are cold."""

MOST_SHOWN = 2000
"""Characters; the kernel takes two million for all arguments and the environment together."""

_READ_AT_START = ("PYTHON", "OMP_", "MKL_", "KMP_", "LD_", "MALLOC_", "GLIBC_")
"""Variables with these beginnings take effect when the interpreter or a library comes up."""

_IMPORTS_TORCH = re.compile(rb"^\s*(?:import|from)\s+(?:torch|lightning|pytorch_lightning|transformers)\b", re.M)


class Spare:
    """One interpreter that waits for its plan."""

    def __init__(
        self, env: Mapping[str, str], modules: List[str], nice: int, log: str, *, shown: Sequence[str], group: str = ""
    ) -> None:
        """Spawn it in a control group, if one is named; raises OSError if no process can be made.

        ``shown`` is what listings of processes are to tell of it: nothing else than its command line is there for that.
        """
        self.env = dict(env)
        self.group = group
        self.ready = False
        self.control, theirs = socket.socketpair()
        self._plan: IO[bytes] = tempfile.TemporaryFile(dir=os.path.dirname(log))  # noqa: SIM115 - lives as long as the spare
        kept = (theirs.fileno(), self._plan.fileno())
        warm = os.path.join(os.path.dirname(os.path.abspath(__file__)), "warm.py")
        with open(log, "ab") as output:
            process = subprocess.Popen(
                [sys.executable, warm, preload.SPARE, str(kept[0]), str(kept[1]), *modules, preload.SHOWN, *shown],
                env=hugepages.asked(self.env),  # the rank's own environment, which its children get, takes its place
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=kept,
                preexec_fn=before_exec(os.getpid(), group, nice),  # noqa: PLW1509 - the launcher has one thread
            )
        theirs.close()
        self.pid = process.pid
        # The launcher reaps by itself; the object must not try to as well.
        process.returncode = 0

    def fits(self, env: Mapping[str, str]) -> bool:
        """Say whether nothing that is read at start differs from the environment of the rank."""
        names = {name for name in (*env, *self.env) if name.startswith(_READ_AT_START)}
        return all(env.get(name) == self.env.get(name) for name in names)

    def become(self, plan: Dict[str, Any]) -> None:
        """Hand over the plan; the interpreter is a rank from now on."""
        system.set_priority(self.pid, plan["nice"])
        self._plan.write(json.dumps(plan).encode())
        self._plan.flush()
        with contextlib.suppress(OSError):  # it has just died; its exit says so
            self.control.send(b"g")
        self.close()

    def close(self) -> None:
        """Let go of the descriptors."""
        self.control.close()
        self._plan.close()


def before_exec(parent: int, group: str, nice: int) -> Callable[[], None]:
    """Return what a child does between fork and exec: its own session, group and priority, death with the launcher."""

    def prepare() -> None:
        signal.set_wakeup_fd(-1)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        system.die_with_parent(parent)
        cgroup.enter(group)
        system.set_priority(os.getpid(), nice)

    return prepare


class Stock:
    """Spares of one task, kept up to its number; says ``changed`` when another one is ready or gone."""

    def __init__(self, task: Task, env: Mapping[str, str], loop: Loop, changed: Callable[[], None]) -> None:
        self._task = task
        self._env = dict(env)
        self._loop = loop
        self._changed = changed
        self._log = os.path.join(task.directory, "spares.log")
        self.groups = cgroup.open_groups()
        self.nice = system.rank_nice()
        self._background = system.BACKGROUND_NICE if system.restorable_priority() else 0
        self._at_once = max(1, len(os.sched_getaffinity(0)) // CORES_PER_REFILL)
        self._failures = 0
        self._hold_until = 0.0
        self._spares: List[Spare] = []
        self.torch_seen = False
        """A rank imported torch, whatever its source says."""

    @property
    def ready(self) -> int:
        """How many have done their imports."""
        return sum(spare.ready for spare in self._spares)

    @property
    def pids(self) -> Set[int]:
        """The processes that are no ranks yet."""
        return {spare.pid for spare in self._spares}

    def hold(self, seconds: float) -> None:
        """Spawn none before so many seconds have gone by."""
        self._hold_until = time.monotonic() + seconds

    def fill(self) -> None:
        """Spawn all at once at full priority: for the first start, which has nothing to disturb."""
        for _ in range(self._task.warm_ranks):
            self._spawn(self.nice)

    def refill(self) -> Optional[float]:
        """Spawn one if one is missing, few are warming and the time has come.

        Return in how many seconds to call again; None when the number is complete or hopeless.
        """
        if len(self._spares) >= self._task.warm_ranks or self._failures >= GIVE_UP_AFTER:
            return None
        held = time.monotonic() < self._hold_until
        if held or len(self._spares) - self.ready >= self._at_once:
            return LOOK_EVERY_S
        self._spawn(self.nice + self._background)
        return 0.0

    def take(self, env: Mapping[str, str]) -> Optional[Spare]:
        """Take the spare that is furthest and fits out of the stock."""
        fitting = [spare for spare in self._spares if spare.fits(env)]
        if not fitting:
            return None
        best = next((spare for spare in fitting if spare.ready), fitting[0])
        self._spares.remove(best)
        self._loop.forget(best.control)
        return best

    def cold(self, env: Mapping[str, str]) -> Spare:
        """Spawn one that imports nothing ahead; raises OSError if no process can be made."""
        return Spare(env, [], self.nice, self._log, shown=shown(self._task), group=self.groups.make())

    def ended(self, pid: int) -> None:
        """Drop the spare with this pid, if it is one."""
        for spare in self._spares:
            if spare.pid == pid:
                self._failures = self._failures + 1 if not spare.ready else 0
                self._spares.remove(spare)
                self._loop.forget(spare.control)
                spare.close()
                cgroup.remove([spare.group])
                self._changed()
                return

    def _spawn(self, nice: int) -> None:
        try:
            spare = Spare(
                self._env, self._modules(), nice, self._log, shown=shown(self._task), group=self.groups.make()
            )
        except OSError as error:
            self._failures += 1
            self.hold(REFILL_LATEST_S)
            system.log("no spare can be made, try %d of %d: %s" % (self._failures, GIVE_UP_AFTER, error))
            return
        self._spares.append(spare)
        self._loop.watch_child(spare.pid)
        self._loop.watch(spare.control, lambda: self._heard(spare))

    def _heard(self, spare: Spare) -> None:
        """Note that a spare has done its imports, or has closed its end and is about to be reaped."""
        self._loop.forget(spare.control)
        if spare.control.recv(1) == b"r":
            spare.ready = True
            self._failures = 0
            self._changed()

    def _modules(self) -> List[str]:
        if self._task.preload is not None:
            return list(self._task.preload)
        return [preload.TORCH] if self.torch_seen or uses_torch(self._task) else []


def shown(task: Task) -> List[str]:
    """Return the command line of the task as far as it is short: people look for train.py among the processes."""
    words = ["-m"] if task.kind is Kind.MODULE else []
    for word in (task.target, *task.argv):
        if sum(map(len, words)) + len(word) > MOST_SHOWN:
            break
        words.append(word)
    return words


def uses_torch(task: Task) -> bool:
    """Say whether the source of the script or module imports torch or a framework that does."""
    path = task.target
    if task.kind is Kind.MODULE:
        below = os.path.join(task.cwd, *task.target.split("."))
        path = below + ".py" if os.path.isfile(below + ".py") else os.path.join(below, "__main__.py")
    try:
        with open(path, "rb") as file:
            return _IMPORTS_TORCH.search(file.read()) is not None
    except OSError:
        return False
