"""Tells an open page that it is behind: it then asks for itself again, and is given what is true by then.

What happened does not travel, so a page cannot get out of step, however slow its reader or however many the events.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

from fastapi import APIRouter

from keepstep.console.context import Here, Viewer, joined
from keepstep.console.hub import Hub, Line, Subscription
from keepstep.console.model.recent import Wanted
from keepstep.console.pages.asked import Text
from keepstep.console.streaming import EventStream
from keepstep.console.views import EventView

router = APIRouter(include_in_schema=False)
GATHER_S = 0.5
"""News of so long are told as one: a fault is a dozen events, and people read no faster."""
PROGRESS = b"event: progress\n"
STANDING = frozenset(
    (
        *("IncidentOpened", "IncidentClosed", "NodeIsolated", "NodeReleased", "ActionsPaused", "ActionsResumed"),
        *("DetectorBlinded", "DetectorSighted"),
    )
)
"""What changes the line atop every page."""


@dataclass(frozen=True)
class Follow:
    """Which news a page shows; without a filter all."""

    job: str = ""
    node: str = ""
    incident: str = ""
    progress: bool = False
    """Also steps and heartbeats, once a second."""

    def address(self, since: int) -> str:
        """Return where the news of a page are told that shows what was said up to a cursor."""
        asked = {name: value for name, value in asdict(self).items() if value and value is not True}
        progress = {"progress": 1} if self.progress else {}
        return f"/live?{urlencode(asked | progress | {'since': since})}"

    def test(self) -> Callable[[EventView], bool]:
        """Return what tells whether an event changes the page."""
        wanted = Wanted(job=self.job or None, node=self.node or None, incident=self.incident or None).test()
        return lambda event: event.name in STANDING or wanted(event)


@router.get("/live", response_class=EventStream)
async def live(
    here: Here, user: Viewer, *, since: int, job: Text = "", node: Text = "", incident: Text = "",
    progress: bool = False,
) -> EventStream:  # fmt: skip
    """Say ``changed`` whenever the page that asks is behind, and at once if it is already."""
    follow = Follow(job=job, node=node, incident=incident, progress=progress)
    subscription = joined(here, user, follow.test())
    recent = here.board.model.recent
    behind = recent.last > since or not here.live.caught_up
    return PageStream(here.hub, subscription, lambda: recent.last, progress=progress, behind=behind)


class PageStream(EventStream):
    """A stream of ``changed``, each for all the news of half a second."""

    def __init__(
        self, hub: Hub, subscription: Subscription, last: Callable[[], int], *, progress: bool, behind: bool
    ) -> None:
        super().__init__(hub, subscription, [changed(last())] if behind else [])
        self._last, self._progress = last, progress

    async def _next(self) -> bytes | None:
        while True:
            line = await super()._next()
            if line is None or line.startswith(b":"):
                return line
            if await self._gather(line):
                return changed(self._last())

    async def _gather(self, line: bytes) -> bool:
        """Take what comes within the time; return whether any of it changes the page."""
        tells = self._tells(line)
        until = time.monotonic() + GATHER_S
        while (left := until - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    tells |= self._tells(await self._subscription.queue.get())
            except TimeoutError:
                break
        return tells

    def _tells(self, line: bytes) -> bool:
        return self._progress or not line.startswith(PROGRESS)


def changed(cursor: int) -> Line:
    """Return the word that a page is behind, with the cursor up to which it will then have heard."""
    return Line(f"id: {cursor}\nevent: changed\ndata: {cursor}\n\n".encode())
