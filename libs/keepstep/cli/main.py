"""The ``keepstep`` command: finds the command's file, runs it, and turns every error into one line and an exit code."""

import errno
import importlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import NoReturn

COMMANDS: dict[str, str] = {
    "run": "run a job on this machine under fault tolerance",
    "up": "run the embedded stack: bus, six services, and local nodes",
    "job": "create, get, list, watch, stop and delete jobs",
    "events": "list or follow what was said",
    "incident": "list, show and acknowledge incidents",
    "report": "write down a run in one file: timeline, incidents, lost time, evidence",
    "node": "list, isolate, release and drain nodes",
    "fault": "inject faults on purpose",
    "notify": "list the channels that reach people, and try one",
    "deadletter": "list, replay and drop messages that nobody could take",
    "pause": "observe only: act on nothing",
    "resume": "act again",
    "console": "make tokens for people who log in to the console",
    "schema": "print the AsyncAPI document or the JSON Schemas",
    "doctor": "check what keepstep needs on this machine",
}
"""Every command and what it does; ``keepstep --help`` prints this without importing any of them."""

SLOW: dict[tuple[str, ...], str] = {
    ("run",): "starting: checks the job, then a bus and six services of its own, unless keepstep up runs",
    ("up",): "starting: a bus, the six services and the console",
    ("notify", "test"): "sending one message; the channel has 10 s to answer",
}
"""Commands that are silent for seconds, on a busy machine half a minute, before they have anything to show."""

ELSEWHERE = "name a folder on another disk with --data"
REMEDIES: dict[int, str] = {
    errno.EAGAIN: "; raise the limit of processes, see ulimit -u",
    errno.EMFILE: "; raise the limit of open files, see ulimit -n",
    errno.ENOSPC: f"; make room on the disk, or {ELSEWHERE}",
    errno.EDQUOT: f"; make room in your quota, or {ELSEWHERE}",
    errno.EROFS: f"; {ELSEWHERE}",
    errno.EACCES: "; let this user in, or name another folder with --data",
}
"""What to do about errors of the system, which mostly do not tell of which file they are."""


def main() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    _open_output()
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends: one more Ctrl-C would print what of its end it interrupted
    sys.exit(code)


def _open_output() -> None:
    """Print to nobody where output or errors were closed, as by ``>&-``: else the next file opened would get them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code: 2 for usage, 1 for failure, else the command's own."""
    match arguments:
        case [] | ["--help" | "-h", *_]:
            sys.stdout.write(overview())
            return 0
        case ["--version", *_]:
            from importlib.metadata import version  # noqa: PLC0415 - 30 ms that other commands do not need

            sys.stdout.write(f"keepstep {version('keepstep')}\n")
            return 0
        case [name, *rest] if name in COMMANDS:
            return _interruptible(name, rest)
        case [name, *_]:
            return fail(f"unknown command {name}; keepstep --help lists them", 2)
        case _:
            raise AssertionError(arguments)


def overview() -> str:
    """Return the text of ``keepstep --help``."""
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name.ljust(width)}  {what}" for name, what in COMMANDS.items())
    return f"keepstep keeps distributed training runs stepping.\n\n{lines}\n\nkeepstep COMMAND --help tells more.\n"


def _interruptible(name: str, rest: Sequence[str]) -> int:
    """Run a command, of a slow one it is told first; a Ctrl-C during its import ends it without a traceback either."""
    _say_at_once([name, *rest])
    try:
        return _run_command(name, rest)
    except KeyboardInterrupt:
        return 130


def _say_at_once(line: Sequence[str]) -> None:
    """Tell a person at a terminal what is being done, before anything is imported; files and pipes get none of it."""
    told = next((what for words, what in SLOW.items() if tuple(line[: len(words)]) == words), None)
    if told is not None and sys.stderr.isatty() and not {"--help", "-h"}.intersection(takewhile("--".__ne__, line)):
        sys.stderr.write(f"keepstep: {told}\n")
        sys.stderr.flush()


def _run_command(name: str, rest: Sequence[str]) -> int:
    from typer.exceptions import Abort, TyperException  # noqa: PLC0415 - 70 ms that the overview does not need

    from keepstep.cli.errors import Failed, Refused  # noqa: PLC0415 - nor these
    from keepstep.ports.errors import KeepstepError  # noqa: PLC0415 - nor these

    app = importlib.import_module(f"keepstep.cli.commands.{name}").app
    try:
        return int(app(list(rest), prog_name=f"keepstep {name}", standalone_mode=False) or 0)
    except (TyperException, Refused, Failed, KeepstepError, OSError, ExceptionGroup) as error:
        return _explain(error, (name, *rest))
    except Abort:
        return 130


_REWORDED = {
    r"Input should be a valid integer.*": "write a whole number",
    r"Input should be a valid number.*": "write a number",
    r"Input should be greater than or equal to ": "write at least ",
    r"Input should be less than or equal to ": "write at most ",
    r"Value error, ": "",
}
"""What the parser of the command line says of a value, and how a person says it."""


def _hinted(told: str, line: Sequence[str]) -> str:
    """Return what is wrong with a command line in plain words, together with where else it would be right."""
    for words, plain in _REWORDED.items():
        told = re.sub(words, plain, told)
    takes_script = tuple(line[:1]) == ("run",) or tuple(line[:2]) == ("job", "create")
    if takes_script and told.startswith("No such option") and "(" not in told:  # it knows none of ours that is near
        return f"{told}; the script, or -m and its module, goes behind -- with all that is its own"
    unknown = re.match(r"No such command '([\w-]+)'", told)
    if unknown is not None and unknown[1] in COMMANDS:
        return f"{told} There is keepstep {unknown[1]}; --help tells more"
    return told


def _explain(error: Exception, line: Sequence[str]) -> int:
    """Print what a person can do something about; raise what only a programmer can."""
    from typer.exceptions import TyperException  # noqa: PLC0415 - only a failure pays for it

    from keepstep.cli.errors import Failed, Refused  # noqa: PLC0415 - only a failure pays for it
    from keepstep.ports.errors import KeepstepError  # noqa: PLC0415 - only a failure pays for it

    match error:
        case TyperException():
            return fail(_hinted(error.format_message(), line), error.exit_code)
        case Refused() | Failed():
            return fail(str(error), error.exit_code)
        case KeepstepError():
            return fail(str(error), 1)
        case BrokenPipeError():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        case OSError():
            remedy = REMEDIES.get(error.errno or 0, "")
            return fail(f"{error.filename or 'the system'}: {error.strerror or error}{remedy}", 1)
        case ExceptionGroup():
            return _explain(error.exceptions[0], line)
        case _:
            raise error


def fail(text: str, code: int) -> int:
    """Print one line on stderr and return the exit code."""
    from keepstep.cli.options import note  # noqa: PLC0415 - only a failure pays for it

    note(" ".join(text.split()))
    return code
