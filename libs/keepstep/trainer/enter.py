"""Which command of a training container the launcher takes over: the one that starts the ranks, and only once."""

from __future__ import annotations

import os
import shutil
import sys
from typing import List, NoReturn

from keepstep.trainer import launch, waiting
from keepstep.trainer.command import recognise
from keepstep.trainer.task import Kind, Run

IMAGE_PATH = "KEEPSTEP_IMAGE_PATH"
"""PATH as it would be without the shims; set by keepstep-launch."""
NOT_UNDERSTOOD = 64
"""EX_USAGE."""
SHIM = "KEEPSTEP_SHIM"
"""The name that a shim was called by; a container's own command comes without it."""


def main(directory: str, command: List[str]) -> int:
    """Be the launcher of what ``command`` asks for, or that command itself where it is not ours; return the exit code.

    What a rank starts is the rank's own, and so is what follows after the job has ended.
    """
    shimmed = os.environ.pop(SHIM, None) is not None
    if "KEEPSTEP_GENERATION" in os.environ or waiting.ended(directory) is not None:
        _become(command)
    asked = recognise(command, os.environ)
    if asked is None and shimmed:
        if command[:1] == ["accelerate"] and command[1:2] != ["launch"]:
            _become(command)
        sys.stderr.write("keepstep: not understood, so nothing is run: %s\n" % " ".join(command))
        return NOT_UNDERSTOOD
    run = Run(Kind.COMMAND, "", tuple(command), 1) if asked is None else asked.run
    path = os.environ.pop(IMAGE_PATH, None)
    if path:
        os.environ["PATH"] = path
    return launch.main(["--dir", directory, "--wait", "--run", run.text()])


def _become(command: List[str]) -> NoReturn:
    path = os.environ.pop(IMAGE_PATH, os.environ.get("PATH", os.defpath))
    os.environ["PATH"] = path
    program = shutil.which(command[0], path=path)
    if program is None:
        sys.stderr.write("keepstep: %s: not found in this image\n" % command[0])
        raise SystemExit(127)
    os.execv(program, command)  # noqa: S606 - the command is the user's own
