"""Whether what a run stands on is still there: the stream of its bus and its folder, which hands can take away."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Never, Protocol

from keepstep.cli.errors import Failed
from keepstep.ports.errors import Transient

LOOK_S = 1.0
"""Nobody takes a folder away often, and a run whose stream is gone is past help at once."""
PATIENCE = 10
"""Looks in a row. A restart takes a second or two: an incident open for longer is kept open by the missing folder."""


class Bus(Protocol):
    """What tells one stream from another."""

    async def identity(self) -> str:
        """Return what a stream made anew does not share; raises Transient when cut off."""


async def stream_lost(bus: Bus, *, look_s: float = LOOK_S) -> Never:
    """Watch the stream for ever; raises Failed once it is another one: nobody there knows of the job any more."""
    known = ""
    while True:
        with suppress(Transient):
            now = await bus.identity()
            if known and now != known:
                raise Failed(
                    "the bus has lost its stream, and with it the job: its data was taken away while it ran;"
                    " run the job again, it resumes from its newest checkpoint"
                )
            known = now
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
                f"{cluster} was taken away while the job ran, so that its ranks cannot be started again;"
                " run the job again, it resumes from its newest checkpoint"
            )
        await asyncio.sleep(look_s)
