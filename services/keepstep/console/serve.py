"""Serves an application on a socket of this process, and leaves signals to whoever runs it."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from keepstep.console.unread import ReadAway
from keepstep.ports.errors import Permanent
from keepstep.runtime.hasty import Hasty
from keepstep.runtime.http import UNREAD_S
from keepstep.runtime.tasks import end

CLOSE_S = 2
"""For requests under way when the console ends; streams are told to go before that."""
WAITING = 2048
"""Connections that wait to be taken: as many as uvicorn asks for."""


class Server(uvicorn.Server):
    """A server that is stopped by its owner: in an embedded stack Ctrl-C means the whole of it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def served(app: ASGIApp, host: str, port: int) -> AsyncIterator[str]:
    """Serve the app for the block; yields its address, with the system's port where 0 was asked for.

    Raises Permanent if the port is not to be had.
    """
    listening = _bound(host, port)
    place = listening.getsockname()
    config = uvicorn.Config(
        ReadAway(app), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=CLOSE_S, ws="none",
        http=Hasty, server_header=False, date_header=False,
        proxy_headers=False,  # by default anybody on this machine says by a header that he is another
    )  # fmt: skip
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://{f'[{place[0]}]' if ':' in place[0] else place[0]}:{place[1]}"
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=CLOSE_S * 2)
        await end((serving,))
        listening.close()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux has it; connections inherit it, and it counts a closed window too
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_S * 1000)
    try:
        listening.bind((host, port))
        listening.listen(WAITING)  # at once: whoever is told the address may come before the server has begun
    except OSError as error:
        listening.close()
        raise Permanent(
            f"port {port} of {host} for the console is not to be had ({os.strerror(error.errno or 0)});"
            " choose another with --port or KEEPSTEP_CONSOLE_PORT, 0 takes a free one"
        ) from error
    return listening
