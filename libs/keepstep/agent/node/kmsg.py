"""Records of the kernel's log, in the form of /dev/kmsg and in that of syslog(2): pure, but for the two that read.

A container is not given the device /dev/kmsg unless it is privileged; syslog(2) takes CAP_SYSLOG and no more.
"""

import ctypes
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KMSG = Path("/dev/kmsg")
BLOCK = 64 * 1024
LONGEST = 16 * 1024
"""A record is below 1 KiB; what is longer without an end is no log of a kernel."""
READS = 256
"""Reads at one look: a kernel that floods its log costs a look no more than this."""
_READ_ALL, _SIZE = 3, 10
_RECORD = re.compile(r"(?P<level>\d+),\d+,(?P<micros>\d+),[^;]*;(?P<text>.*)", re.DOTALL)
_LINE = re.compile(r"<(?P<level>\d+)>\[\s*(?P<seconds>\d+)\.(?P<micros>\d{6})\](?:\[[^\]]*\])? (?P<text>.*)")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


@dataclass(frozen=True)
class Record:
    """One thing that the kernel said; ``micros`` since it started."""

    micros: int
    text: str


def record_of(line: str) -> Record | None:
    """Return the record of a line of /dev/kmsg; None for a property of the record before, or no record at all."""
    found = _RECORD.fullmatch(line)
    if found is None:
        return None
    return Record(int(found["micros"]), _ESCAPE.sub(lambda code: chr(int(code[1], 16)), found["text"]))


def records_of(lines: Iterable[str]) -> tuple[Record, ...]:
    """Return the records of what syslog(2) gives; lines of one instant are one record of several lines.

    The first line may have been cut by the ring's end and is left out then.
    """
    records: list[Record] = []
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        micros = int(found["seconds"]) * 1_000_000 + int(found["micros"])
        if records and records[-1].micros == micros:
            records[-1] = Record(micros, f"{records[-1].text}\n{found['text']}")
        else:
            records.append(Record(micros, found["text"]))
    return tuple(records)


class KmsgFile:
    """Reads /dev/kmsg, or a pipe or file with the same lines in it, from its beginning and never waits."""

    def __init__(self, path: Path = KMSG) -> None:
        """Open it; raises OSError where that is not allowed."""
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._rest = b""

    def new(self) -> Sequence[Record]:
        """Return what was said since the last look."""
        found: list[Record] = []
        for _ in range(READS):
            block = self._block()
            if not block:
                break
            *lines, self._rest = (self._rest + block).split(b"\n")
            self._rest = self._rest[:LONGEST]
            texts = (line.decode(errors="replace") for line in lines)
            found += [record for text in texts if (record := record_of(text)) is not None]
        return found

    def _block(self) -> bytes:
        """Return the next part; of what the kernel has overwritten meanwhile the oldest that is left."""
        while True:
            with suppress(BrokenPipeError):
                try:
                    return os.read(self._file, BLOCK)
                except BlockingIOError:
                    return b""


class Syslog:
    """Reads the kernel's ring by syslog(2)."""

    def __init__(self) -> None:
        """Look whether that is allowed; raises OSError where it is not."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._buffer = ctypes.create_string_buffer(self._call(_SIZE, None, 0))
        self._last = -1
        self._call(_READ_ALL, self._buffer, len(self._buffer))

    def new(self) -> Sequence[Record]:
        """Return what was said since the last look."""
        size = self._call(_READ_ALL, self._buffer, len(self._buffer))
        lines = self._buffer.raw[:size].decode(errors="replace").splitlines()
        found = [record for record in records_of(lines) if record.micros > self._last]
        self._last = found[-1].micros if found else self._last
        return found

    def _call(self, what: int, buffer: "ctypes.Array[ctypes.c_char] | None", size: int) -> int:
        done = int(self._libc.klogctl(what, buffer, size))
        if done < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), "syslog(2)")
        return done


def kernel_log(path: Path = KMSG) -> "KmsgFile | Syslog":
    """Return what can be read here: the device where it may be opened, else the ring. Raises OSError for neither."""
    try:
        return KmsgFile(path)
    except OSError:
        return Syslog()
