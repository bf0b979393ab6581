"""Runs the server on a loopback port; it can go away and come back on the same port."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn

from .http import ApiServer


class Serving:
    """An API server that listens."""

    def __init__(self, app: ApiServer) -> None:
        self.app = app
        self.port = 0
        self._uvicorn: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Listen; the first time on a free port, later on the same."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self.app,
            log_level="warning",
            lifespan="off",
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=1,
            timeout_keep_alive=90,
        )
        server = uvicorn.Server(config)
        self._uvicorn = server
        self._task = asyncio.create_task(_serve(server, listener))
        async with asyncio.timeout(20):
            while not server.started:  # noqa: ASYNC110 - uvicorn offers no event
                await asyncio.sleep(0)

    async def down(self) -> None:
        """Close every connection and listen no more: connections are refused until ``up``."""
        self.app.watches.close_all()
        if self._uvicorn is not None and self._task is not None:
            self._uvicorn.should_exit = True
            await self._task
        self._uvicorn = self._task = None

    def kubeconfig(self, path: Path, token: str | None = None) -> Path:
        """Write a kubeconfig for this server with the token (the admin's by default) and return its path."""
        user = {"name": "user", "user": {"token": token or self.app.access.admin_token}}
        cluster = {"name": "double", "cluster": {"server": self.url}}
        context = {"name": "double", "context": {"cluster": "double", "user": "user", "namespace": "default"}}
        head = {"apiVersion": "v1", "kind": "Config", "current-context": "double"}
        path.write_text(json.dumps({**head, "clusters": [cluster], "users": [user], "contexts": [context]}))
        return path


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    with listener:
        await server.serve(sockets=[listener])


@asynccontextmanager
async def serving(app: ApiServer) -> AsyncIterator[Serving]:
    """Serve for the length of the block."""
    server = Serving(app)
    await server.up()
    try:
        yield server
    finally:
        await server.down()
