"""Reads away what is left of a request that was answered before its end, so that its sender gets to see the answer.

Most clients send all of a body before they look for an answer, and ask for the connection to be closed behind it. A
connection closed with bytes unread is reset, which takes the answer back: a body that is too long, or of a stranger,
was told to its sender as a broken connection.
"""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_UNREAD = 128 * 1024 * 1024
"""Bytes read away of one request: eight times the longest that is taken. Whoever sends more gets no answer for it."""
UNREAD_S = 30.0
"""For all of them; none is kept, so it costs as much as any slow request."""
CLOSE = (b"connection", b"close")


class ReadAway:
    """Middleware, the outermost: sends an answer at once, but ends it when the request has ended too.

    The connection ends with it: how much is still to come of the request is for its sender to say.
    """

    def __init__(self, app: ASGIApp, *, most: int = MOST_UNREAD, within_s: float = UNREAD_S) -> None:
        self._app, self._most, self._within_s = app, most, within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        request = _Request(receive)

        async def whole(message: Message) -> None:
            if message["type"] == "http.response.start" and request.goes_on:
                message = {**message, "headers": [*message.get("headers", ()), CLOSE]}
            elif message["type"] == "http.response.body" and not message.get("more_body") and request.goes_on:
                await send({**message, "more_body": True})
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._within_s):
                        await request.read_away(self._most)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await self._app(scope, request.receive, whole)


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


class _Request:
    """How far a request has been heard."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = False
        self._waiting = 0

    @property
    def goes_on(self) -> bool:
        """Whether more of it may come, and nobody waits for it."""
        return not self._ended and not self._waiting

    async def receive(self) -> Message:
        """Return what came in next."""
        self._waiting += 1
        try:
            message = await self._receive()
        finally:
            self._waiting -= 1
        self._ended = message["type"] != "http.request" or not message.get("more_body")
        return message

    async def read_away(self, most: int) -> None:
        """Read until it ends, or until ``most`` bytes were read."""
        while not self._ended and most >= 0:
            most -= len((await self.receive()).get("body", b""))
