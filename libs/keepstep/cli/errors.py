"""How a command ends when it cannot do what was asked: one line on stderr and an exit code.

Refused (exit 2)   what was asked makes no sense as written: fix the command or the file
Failed (exit 1)    it made sense and did not work
"""


class Refused(Exception):
    """Bad usage; the message names the thing and the remedy."""

    exit_code = 2


class Failed(Exception):
    """The command could not be done; the message says why."""

    exit_code = 1
