"""Reading the last lines of a rank: where its traceback ends and which line names the exception."""

import re
from collections.abc import Sequence

MAX_SIGNATURE = 400
"""Longer lines tell nothing more and would fill the fold of a job whose 512 ranks die at once."""

MAX_FILE = 120
"""Characters kept of a file's path, from its end."""

_PREFIX = re.compile(r"^(?:\[(?:rank)?\d+\]:?\s?)+")
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Failure|Warning|Fault|Abort|Expired|Group)"
    r"(?::|$|\s*$)"
)
_ANY_EXCEPTION = re.compile(r"^(?!(?:Killed|Aborted|Terminated)\b)(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: |:?\s*$)")
_HEADER = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s*File "(?P<file>.*)", line (?P<line>\d+)')
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def plain(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without torch's ``[rank1]:`` in front and without blanks behind."""
    return tuple(_PREFIX.sub("", line).rstrip() for line in lines)


def exception_line(lines: Sequence[str]) -> str | None:
    """Return the line that names the exception of the last traceback, or None when no traceback ends here.

    What C++ prints behind it (``frame #0: ...``) is passed over; a traceback cut off at the top is still recognised
    by its frames or by the usual names of exceptions. ``lines`` are plain.
    """
    last_frame = max((at for at, line in enumerate(lines) if _FRAME.match(line) or line == _HEADER), default=None)
    if last_frame is not None:
        for line in lines[last_frame + 1 :]:
            if line and not line[0].isspace() and _ANY_EXCEPTION.match(line):
                return line
    return next((line for line in reversed(lines) if _EXCEPTION.match(line) and "Warning" not in line), None)


def signature(line: str) -> str:
    """Return what makes two failures the same: the line, bounded, without addresses that change at every start."""
    return _ADDRESS.sub("0x..", line.strip())[:MAX_SIGNATURE]


def frame_before(lines: Sequence[str], raised: str) -> str:
    """Return the file and line of the last frame in front of the exception's line, "" when none is seen.

    ``lines`` are plain. Of a SyntaxError it is the place that does not compile.
    """
    frames = [found for line in lines[: lines.index(raised)] if (found := _FRAME.match(line))]
    if not frames:
        return ""
    file = frames[-1]["file"]
    shown = file if len(file) <= MAX_FILE else f"...{file[-MAX_FILE:]}"
    return f"{shown}, line {frames[-1]['line']}"
