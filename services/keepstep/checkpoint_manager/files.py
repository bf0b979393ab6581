"""Looks at a checkpoint's files from where the service runs; a mount that hangs costs a thread and a moment."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from keepstep.checkpoint_manager.core import Glance, Part, Seen, Step
from keepstep.core.sentences import counted

T = TypeVar("T")
CLOCK_GRAIN = timedelta(milliseconds=1)
"""Modification times travel as text with microseconds and are compared a little coarser."""


def glance(step: Step) -> Seen:
    """Return what the files of all parts show now: there with their saved sizes, damaged, or out of sight."""
    for part in step.parts:
        seen = _part(part)
        if seen.glance is not Glance.PRESENT:
            return seen
    return Seen(Glance.PRESENT, f"{counted(len(step.files), 'file')} found")


def trust(step: Step) -> Seen:
    """Return the answer of one who cannot look."""
    return Seen(Glance.OUT_OF_SIGHT, f"{counted(len(step.files), 'file')} out of sight for too long to look")


def _part(part: Part) -> Seen:
    try:
        if not part.shared or not Path(part.path).parent.is_dir():
            return Seen(Glance.OUT_OF_SIGHT, "its files cannot be seen from here")
        return _compared(part, [path.stat() for path in _paths(part)])
    except FileNotFoundError as error:
        return Seen(Glance.DAMAGED, f"{error.filename} is not there")
    except OSError as error:
        return Seen(Glance.OUT_OF_SIGHT, f"{error.filename} cannot be looked at ({error.strerror})")
    except (ValueError, OverflowError):
        return Seen(Glance.OUT_OF_SIGHT, f"the files of {part.path} bear times that no calendar knows")


def _compared(part: Part, stats: list[os.stat_result]) -> Seen:
    size = sum(stat.st_size for stat in stats)
    newest = datetime.fromtimestamp(max(stat.st_mtime for stat in stats), UTC)
    if part.size_bytes and size != part.size_bytes:
        return Seen(Glance.DAMAGED, f"{part.path} holds {size} bytes, {part.size_bytes} were saved")
    if part.written is not None and newest > part.written + CLOCK_GRAIN:
        return Seen(Glance.DAMAGED, f"{part.path} was written to since it was found whole")
    return Seen(Glance.PRESENT, f"{counted(len(part.files), 'file')} found")


def _paths(part: Part) -> tuple[Path, ...]:
    """Return where the files are: absolute names as they are, others below the path, or beside it if it is a file."""
    path = Path(part.path)
    folder = path if path.is_dir() else path.parent
    return tuple(folder / name for name in part.files) or (path,)


async def in_daemon_thread(work: Callable[[], T], *, limit: timedelta) -> T:
    """Return what ``work``, which must not raise, returns; raises TimeoutError after ``limit`` and lets the thread be.

    Not ``asyncio.to_thread``: its pool is joined at exit, and a thread in a hung mount never ends.
    """
    done: Future[T] = Future()

    def run() -> None:
        result = work()
        if done.set_running_or_notify_cancel():
            done.set_result(result)

    threading.Thread(target=run, name="checkpoint-look", daemon=True).start()
    async with asyncio.timeout(limit.total_seconds()):
        return await asyncio.wrap_future(done)
