"""Whether what runs still has its footing: the bus and its stream, the folder and room on its disk."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Never, Protocol

from keepstep.cli.errors import Failed
from keepstep.ports.errors import Transient
from keepstep.runtime.nats_health import ROOM

LOOK_S = 1.0
"""Nobody takes a folder away often, and a run whose stream is gone is past help at once."""
PATIENCE = 10
"""Looks in a row. A restart takes a second or two: an incident open for longer is kept open by the missing folder."""
SILENT_S = 10.0
"""A bus that dies is back after a second or two; one that is not needs somebody to look."""


class Bus(Protocol):
    """What tells one stream from another."""

    async def identity(self) -> str:
        """Return what a stream made anew does not share; raises Transient when cut off."""


@dataclass(frozen=True)
class Footing:
    """Who stands on it, in the words of an error: what is lost with it, and what to do then."""

    lost: str
    remedy: str


RUN = Footing("the job", "run the job again, it resumes from its newest checkpoint")
UP = Footing("all jobs", "start keepstep up again and run the jobs again, they resume from their newest checkpoints")


async def stream_lost(bus: Bus, whose: Footing = RUN, *, look_s: float = LOOK_S) -> Never:
    """Watch the stream for ever; raises Failed once it is another one: nobody there knows of any job any more."""
    known = ""
    while True:
        with suppress(Transient):
            now = await bus.identity()
            if known and now != known:
                raise Failed(
                    f"the bus has lost its stream, and with it {whose.lost}: its data was taken away while it ran;"
                    f" {whose.remedy}"
                )
            known = now
        await asyncio.sleep(look_s)


async def bus_silent(
    bus: Bus, tell: Callable[[str], None], *, look_s: float = LOOK_S, silent_s: float = SILENT_S
) -> Never:
    """Watch for ever; tell once that the bus has not answered for ``silent_s`` seconds, and once that it does again.

    A bus whose binary, port or disk was taken away does not come back by itself, and whoever waited saw ranks that ran
    and no word about the one that had died.
    """
    heard, told = time.monotonic(), False
    while True:
        try:
            await bus.identity()
        except Transient as error:
            silence = time.monotonic() - heard
            if silence >= silent_s and not told:
                told = True
                tell(
                    f"the bus has not answered for {silence:.0f} s ({error}): ranks that run go on, but nothing that"
                    " happens is decided until it does; the end of nats.log or the bus's own log may tell why"
                )
        else:
            if told:
                tell("the bus answers again")
            heard, told = time.monotonic(), False
        await asyncio.sleep(look_s)


async def folder_lost(
    cluster: Path, tell: Callable[[str], None], hurt: Callable[[], bool], *, look_s: float = LOOK_S
) -> Never:
    """Watch the folder of the nodes for ever and tell once that it is gone; raises Failed when that keeps ``hurt`` up.

    Ranks that step need no folder. Where one is to be restarted there is no place for it, and never will be.
    """
    gone, looks = False, 0
    while True:
        if not gone and not await asyncio.to_thread(cluster.is_dir):
            gone = True
            tell(f"{cluster} was taken away: ranks that run go on, but none can be started again, and no log is kept")
        looks = looks + 1 if gone and hurt() else 0
        if looks > PATIENCE:
            raise Failed(
                f"{cluster} was taken away while the job ran, so that its ranks cannot be started again; {RUN.remedy}"
            )
        await asyncio.sleep(look_s)


async def room_lost(
    folder: Path, tell: Callable[[str], None], *, look_s: float = LOOK_S, room: Callable[[Path], int] | None = None
) -> Never:
    """Watch the disk of the folder for ever; tell once that it is full, and once that there is ``room`` (bytes) again.

    The bus stores nothing then, and what is not stored is not decided: a run whose ranks had ended long ago said that
    it ran, until somebody thought of the disk.
    """
    look, full = room or room_on, False
    while True:
        with suppress(OSError):  # it was taken away, which others tell
            left = await asyncio.to_thread(look, folder)
            if left < ROOM and not full:
                full = True
                tell(
                    f"the disk of {folder} is full: ranks that run go on, but nothing that happens is stored or decided"
                    " until there is room on it"
                )
            elif full and left >= 2 * ROOM:
                full = False
                tell(f"there is room on the disk of {folder} again")
        await asyncio.sleep(look_s)


def room_on(folder: Path) -> int:
    """Return how many bytes this user may still write there, quotas apart. Raises OSError."""
    disk = os.statvfs(folder)
    return (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail) * disk.f_frsize
