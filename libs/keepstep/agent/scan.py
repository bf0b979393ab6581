"""Looks into the checkpoint folder: what is there and whether it loads. Storage may hang, so never in the loop."""

import os
import re
import stat
from heapq import nlargest
from pathlib import Path

from keepstep.agent.checkpoints import METADATA, SHARD, Candidate, File
from keepstep.agent.headers import loads

DEPTH = 3
LIMIT = 20_000
"""Files listed at most in one look, those with the highest numbers in their names first."""
_DIGITS = re.compile(r"[0-9]+")
_LATEST_NS = 253_402_300_799 * 10**9
"""The end of the year 9999: file systems know later times, calendars do not."""
_SHARDS = re.compile(rb"__\d+_\d+\.distcp")
_METADATA_LIMIT = 256 * 1024 * 1024


def listing(folder: Path) -> dict[str, File]:
    """Return the files below the folder by relative name; links to folders are not followed (``latest``)."""
    found: dict[str, File] = {}
    _list(str(folder), "", found, DEPTH)
    return found


def whole(folder: Path, candidate: Candidate) -> bool:
    """Return whether every file's header loads and every shard that the metadata names is there."""
    if not all(_loads(folder / name) for name in candidate.files):
        return False
    metadata = f"{candidate.path}/{METADATA}"
    return metadata not in candidate.files or _shards_present(folder / metadata)


def _loads(path: Path) -> bool:
    if path.suffix == SHARD or path.name == METADATA:
        return _size(path) > 0
    return loads(path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _shards_present(metadata: Path) -> bool:
    """Check the names in torch's pickled metadata as text: unpickling would run what is in it."""
    try:
        with metadata.open("rb") as file:
            named = set(_SHARDS.findall(file.read(_METADATA_LIMIT)))
    except OSError:
        return False
    return all(_size(metadata.with_name(name.decode())) > 0 for name in named)


def _list(folder: str, prefix: str, found: dict[str, File], depth: int) -> None:
    try:
        entries = nlargest(LIMIT, os.scandir(folder), key=_numbers)
    except OSError:
        return
    for entry in entries:
        if len(found) >= LIMIT:
            return
        if not _is_text(entry.name):
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth > 1:
                    _list(entry.path, f"{prefix}{entry.name}/", found, depth - 1)
                continue
            status = entry.stat()
        except OSError:
            continue  # it went away while we looked
        if not stat.S_ISREG(status.st_mode):
            continue
        found[prefix + entry.name] = File(size=status.st_size, mtime_ns=min(status.st_mtime_ns, _LATEST_NS))


def _numbers(entry: "os.DirEntry[str]") -> tuple[tuple[int, ...], str]:
    """Return what puts the latest steps first, so that they are among those that are listed."""
    return tuple(int(digits) for digits in _DIGITS.findall(entry.name)), entry.name


def _is_text(name: str) -> bool:
    """Tell whether a name is text: bytes that are none cannot be said to anybody."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
