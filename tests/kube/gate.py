"""Stands between a client and its API server, the double or a real one: refuses, is in the way, and cuts watches.

So a test of what a client makes of faults needs nothing of the server, and runs against any.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import httpx2
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.kube.server.errors import ApiError
from tests.kube.server.http import answered

_KEPT = frozenset({"content-type", "accept", "user-agent"})
_TOLD = frozenset({"content-type", "retry-after", "warning"})
_LONG = httpx2.Timeout(30, read=None)


@dataclass(frozen=True)
class Passing:
    """A request on its way to the server."""

    method: str
    path: str
    query: str

    @property
    def lists(self) -> bool:
        """Whether it asks for a page of a collection."""
        return self.method == "GET" and "limit=" in self.query

    @property
    def watches(self) -> bool:
        """Whether it opens a watch."""
        return "watch=true" in self.query


async def _nothing(_passing: Passing) -> None:
    pass


class Gate:
    """An ASGI application over the real one. ``before`` runs ahead of every request that is let through."""

    def __init__(self, upstream: httpx2.AsyncClient) -> None:
        self._upstream = upstream
        self._cut = asyncio.Event()
        self.passed: list[Passing] = []
        self.refuse: Callable[[Passing], ApiError | None] = lambda _: None
        self.before: Callable[[Passing], Awaitable[None]] = _nothing
        self.watching = 0
        self.stale = False
        """Watches are asked for from version 1 instead, which any server but a newborn one has forgotten."""

    def cut(self) -> None:
        """End the open watches in order, as a server does at their timeout."""
        self._cut.set()
        self._cut = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        passing = Passing(request.method, request.url.path, request.url.query)
        self.passed.append(passing)
        if (refused := self.refuse(passing)) is not None:
            await answered(refused)(scope, receive, send)
            return
        await self.before(passing)
        if passing.watches:
            await self._stream(passing, scope, receive, send)
            return
        headers = {name: said for name, said in request.headers.items() if name in _KEPT}
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        reply = await self._upstream.request(
            passing.method, _url(passing), content=body, headers=headers, timeout=_LONG
        )
        await Response(reply.content, reply.status_code, _headers(reply))(scope, receive, send)

    async def _stream(self, passing: Passing, scope: Scope, receive: Receive, send: Send) -> None:
        url = _url(passing, resourceVersion="1") if self.stale else _url(passing)
        async with self._upstream.stream("GET", url, timeout=_LONG) as reply:
            self.watching += 1
            try:
                lines = _until(self._cut, reply.aiter_bytes())
                await StreamingResponse(lines, reply.status_code, _headers(reply))(scope, receive, send)
            finally:
                self.watching -= 1


async def _until(cut: asyncio.Event, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks until the cut."""
    ends = asyncio.create_task(cut.wait())
    try:
        while True:
            coming = asyncio.ensure_future(anext(chunks, None))
            try:
                await asyncio.wait({coming, ends}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not coming.done():
                    coming.cancel()
            if not coming.done() or (chunk := coming.result()) is None:
                return
            yield chunk
    finally:
        ends.cancel()


def _url(passing: Passing, **changed: str) -> str:
    query = urlencode({**dict(parse_qsl(passing.query)), **changed})
    return f"{passing.path}?{query}" if query else passing.path


def _headers(reply: httpx2.Response) -> dict[str, str]:
    return {name: said for name, said in reply.headers.items() if name in _TOLD}
