"""The launcher's end of what shows the ranks' output in the container's own: see ``echoed``, which is a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import List, Optional, Set

from keepstep.trainer import system

SETTING = "KEEPSTEP_ECHO"
ALL, FIRST, OFF = "all", "first", "off"
"""Every rank of the pod, as torchrun shows them; the pod's lowest rank alone; none."""
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_RUN = "import sys; sys.path.append(sys.argv[1]); from keepstep.trainer import echoed; echoed.main(sys.argv[2])"
"""Isolated, so that no module of the training, whose folder we may be in, takes the place of Python's own."""


class Echo:
    """The launcher's end: starts the process, tells it of ranks, never waits for it but at the end."""

    def __init__(self, directory: str, setting: str = OFF) -> None:
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._only_first = setting == FIRST
        if setting not in (ALL, FIRST, OFF):
            system.log("%s=%s: is none of all, first, off; all is shown" % (SETTING, setting))
        if setting == OFF:
            return
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _RUN, _ROOT, directory],
                stdin=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            system.log("what ranks print is not shown here, only kept: %s" % error)
            return
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        os.set_blocking(self._process.stdin.fileno(), False)

    @property
    def pids(self) -> Set[int]:
        """The process that is no rank."""
        return set() if self._process is None else {self._process.pid}

    def follow(self, generation: int, ranks: List[int]) -> None:
        """Have these ranks shown, too."""
        if self._process is None or self._process.stdin is None or not ranks:
            return
        told = [min(ranks)] if self._only_first else sorted(ranks)
        try:
            os.write(self._process.stdin.fileno(), json.dumps([generation, told]).encode() + b"\n")
        except OSError as error:
            system.log("generation %d is not shown here, only kept: %s" % (generation, error))

    def ended(self, pid: int) -> bool:
        """Note that a process was reaped; return whether it was this one."""
        if self._process is None or self._process.pid != pid:
            return False
        self._process.returncode = 0
        self.close()
        self._process = None
        return True

    def close(self) -> None:
        """Have it show what is left and end, which takes it ``echoed.LAST_WORDS_S`` at most."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
