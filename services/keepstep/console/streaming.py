"""A live stream as server-sent events, to a reader who may be slow, gone, or never read at all."""

import asyncio
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from keepstep.console.hub import Hub, Line, Subscription
from keepstep.runtime.tasks import end

QUIET_S = 15.0
"""After which a comment is sent: proxies close what is silent for a minute, often for half of one."""
SEND_S = 10.0
"""For a reader to take what was sent before; one who does not is let go."""
AGAIN = b"retry: 2000\n\n"
"""Milliseconds after which a browser connects again."""
DROPPED = b"event: dropped\ndata: {}\n\n"
PING = b": still here\n\n"


class EventStream(Response):
    """The response that ends when the reader goes, is dropped, or takes nothing any more."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, subscription: Subscription, missed: Iterable[Line]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._subscription, self._missed = hub, subscription, missed

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send until it is over; the subscription is given up in any case."""
        sending = asyncio.ensure_future(self._send(send))
        going = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sending, going}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(self._subscription)
            await end((sending, going))

    async def _send(self, send: Send) -> None:
        async def out(body: bytes, *, more: bool = True) -> None:
            message = {"type": "http.response.body", "body": body, "more_body": more}
            async with asyncio.timeout(SEND_S):
                await send(message)

        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await out(AGAIN)
            for line in self._missed:
                await out(line)
            while (news := await self._next()) is not None:
                await out(news)
            await out(DROPPED, more=False)
        except TimeoutError:
            self._subscription.dropped.set()

    async def _next(self) -> bytes | None:
        """Return the next line, a comment after a silence, None once the reader was dropped."""
        queue, dropped = self._subscription.queue, self._subscription.dropped
        if not queue.empty():
            return queue.get_nowait()
        if dropped.is_set():
            return None
        getting, dropping = asyncio.ensure_future(queue.get()), asyncio.ensure_future(dropped.wait())
        try:
            await asyncio.wait({getting, dropping}, timeout=QUIET_S, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
            return None if dropping.done() else PING
        finally:
            getting.cancel()
            dropping.cancel()


async def _gone(receive: Receive) -> None:
    """Return once the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
