"""How long a request may be: past it nothing more of its body is read, whoever asks and whatever he says of it."""

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 256 * 1024
"""Bytes of a form or an order: a job's policy and environment fit many times over."""
MOST_OF_REPORT = 16 * 1024 * 1024
"""Bytes of a report of public faults: fifty thousand nodes by names of the longest kind."""

NOTHING: Message = {"type": "http.request"}


class Bounded:
    """Middleware that cuts a request off; the innermost, so that it raises where it is answered."""

    def __init__(self, app: ASGIApp, *, reports: str) -> None:
        self._app, self._reports = app, reports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a body that ends by HTTPException 413 where it is too long."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = MOST_OF_REPORT if scope["path"] == self._reports else MOST
        told = Headers(scope=scope).get("content-length", "")
        left = most - int(told) if told.isdecimal() and int(told) > most else most

        async def bounded() -> Message:
            nonlocal left
            message = NOTHING if left < 0 else await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, f"a request here has at most {most >> 10} KiB")
            return message

        await self._app(scope, bounded, send)
