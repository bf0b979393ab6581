"""How a command ends when it cannot do what was asked: one line on stderr and an exit code.

Refused (exit 2)   what was asked makes no sense as written: fix the command or the file
Failed (exit 1)    it made sense and did not work
Interrupted        a signal came before there was anything to stop in order (exit 128 + signal)
"""

from keepstep.asking.refused import Refused

__all__ = ["Failed", "Refused"]


class Failed(Exception):
    """The command could not be done; the message says why."""

    exit_code = 1


class Interrupted(Failed):
    """A signal ended the command while it was still coming up."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"{name}: stopped while it was still coming up; nothing runs")
        self.exit_code = 128 + number
