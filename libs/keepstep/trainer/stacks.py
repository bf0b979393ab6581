"""Python stacks without ptrace: each rank's faulthandler writes them to a file when it gets a signal.

The signal is SIGURG. Its default is to be ignored, so that sending it to a process without the hook does no harm,
and hardly any training code has a use for urgent socket data; SIGUSR1 and SIGUSR2 belong to Slurm, Lightning and
users.
"""

from __future__ import annotations

import faulthandler
import os
import signal

SIGNAL = signal.SIGURG

_kept: list[int] = []
"""The descriptor faulthandler writes to must stay open as long as the process."""


def register(path: str) -> None:
    """Have this process append the stacks of all its threads to ``path`` at each SIGNAL."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
    faulthandler.register(SIGNAL, file=descriptor, all_threads=True, chain=False)
    _kept.append(descriptor)


def listening(pid: int) -> bool:
    """Say whether ``pid`` would answer ``ask``; False for one without the hook and for one that is gone."""
    try:
        with open("/proc/%d/status" % pid) as file:
            for line in file:
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (SIGNAL - 1) & 1)
    except OSError:
        return False
    return False


def ask(pid: int, path: str) -> bool:
    """Empty ``path`` and ask ``pid`` to write its stacks there; False if it has no hook to do so."""
    if not listening(pid):
        return False
    with open(path, "wb"):
        pass
    os.kill(pid, SIGNAL)
    return True
