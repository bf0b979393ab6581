"""Runs the server on a loopback port; it can go away and come back on the same port."""

import asyncio
import base64
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .http import ApiServer
from .objects import Obj


@dataclass(frozen=True)
class Certificate:
    """A certificate that signs itself, and its key: PEM files."""

    cert: Path
    key: Path

    @property
    def bundle(self) -> str:
        """Return it as caBundle and kubeconfigs carry it."""
        return base64.b64encode(self.cert.read_bytes()).decode()


class Listener:
    """An ASGI application on a port of its own."""

    def __init__(self, served: ASGIApp, certificate: Certificate | None = None) -> None:
        self.port = 0
        self.certificate = certificate
        self._served = served
        self._uvicorn: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Listen; the first time on a free port, later on the same."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        server = uvicorn.Server(self._config())
        self._uvicorn = server
        self._task = asyncio.create_task(_serve(server, listener))
        async with asyncio.timeout(20):
            while not server.started:  # noqa: ASYNC110 - uvicorn offers no event
                await asyncio.sleep(0)

    async def down(self) -> None:
        """Close every connection and listen no more: connections are refused until ``up``."""
        if self._uvicorn is not None and self._task is not None:
            self._uvicorn.should_exit = True
            await self._task
        self._uvicorn = self._task = None

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            dated(self._served),
            date_header=False,
            log_level="warning",
            lifespan="off",
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=1,
            timeout_keep_alive=90,
            ssl_certfile=self.certificate.cert if self.certificate else None,
            ssl_keyfile=self.certificate.key if self.certificate else None,
        )


def dated(served: ASGIApp) -> ASGIApp:
    """Give each answer its Date, as an API server does: uvicorn's own is the one of a moment at which it was idle."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                head = (b"date", formatdate(time.time(), usegmt=True).encode())
                message = {**message, "headers": [*message.get("headers", ()), head]}
            await send(message)

        await served(scope, receive, say)

    return answer


class Serving(Listener):
    """An API server that listens."""

    def __init__(self, app: ApiServer, certificate: Certificate | None = None) -> None:
        super().__init__(app, certificate)
        self.app = app

    async def down(self) -> None:
        """End the watches too."""
        self.app.watches.close_all()
        await super().down()

    def kubeconfig(self, path: Path, token: str | None = None) -> Path:
        """Write a kubeconfig for this server with the token (the admin's by default) and return its path."""
        server: Obj = {"server": self.url}
        if self.certificate is not None:
            server["certificate-authority-data"] = self.certificate.bundle
        user = {"name": "user", "user": {"token": token or self.app.access.admin_token}}
        context = {"name": "double", "context": {"cluster": "double", "user": "user", "namespace": "default"}}
        head = {"apiVersion": "v1", "kind": "Config", "current-context": "double"}
        clusters = [{"name": "double", "cluster": server}]
        path.write_text(json.dumps({**head, "clusters": clusters, "users": [user], "contexts": [context]}))
        return path


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    with listener:
        await server.serve(sockets=[listener])


@asynccontextmanager
async def serving(app: ApiServer, certificate: Certificate | None = None) -> AsyncIterator[Serving]:
    """Serve for the length of the block."""
    server = Serving(app, certificate)
    await server.up()
    try:
        yield server
    finally:
        await server.down()
