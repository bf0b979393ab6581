"""A launcher in a pod comes up before it is known which task it is: it waits, and shows that it is there.

The agent, which hears from the bus which task the pod is, writes task.json; in any order the two find each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from typing import Any, Optional

from keepstep.trainer import system

LOCK = "launcher.lock"
"""Held while the launcher lives: how an agent in a container of its own sees the launcher's end."""
ENDED = "ended.json"
"""The uid of the task that the plan has ended; what a pod's command runs after that is no business of ours."""
LOOK_EVERY_S = 0.1
SAY_EVERY_S = 60.0
TERMINATED = 128 + signal.SIGTERM


def show_up(directory: str) -> int:
    """Take the launcher's lock for as long as this process lives and return its descriptor.

    Raises OSError where another launcher has it: one command of a pod started two.
    """
    os.makedirs(directory, exist_ok=True)
    descriptor = os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def for_task(directory: str) -> None:
    """Return once task.json is there, however long that takes; SIGTERM ends the process meanwhile."""
    # The first process of a container is not ended by a signal that it does not catch.
    signal.signal(signal.SIGTERM, _leave)
    path = os.path.join(directory, "task.json")
    began = said = time.monotonic()
    if not os.path.exists(path):
        system.log("waits until this pod is given its task in %s" % path)
    while not os.path.exists(path):
        time.sleep(LOOK_EVERY_S)
        if time.monotonic() - said >= SAY_EVERY_S:
            said = time.monotonic()
            system.log("no task for %.0f s: is the container keepstep-agent up, and keepstep running?" % (said - began))


def note_end(directory: str, uid: str) -> None:
    """Write down that the plan has ended this task."""
    draft = os.path.join(directory, ENDED + ".new")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({"task": uid}, file)
    os.replace(draft, os.path.join(directory, ENDED))


def ended(directory: str) -> Optional[str]:
    """Return the uid of the task that was ended here, or None."""
    try:
        with open(os.path.join(directory, ENDED), encoding="utf-8") as file:
            return str(json.load(file)["task"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _leave(_number: int, _frame: Any) -> None:
    raise SystemExit(TERMINATED)
