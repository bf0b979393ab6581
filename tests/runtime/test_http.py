"""Whoever asks a service for its figures and takes none of them is hung up."""

import asyncio
import socket

import pytest

from keepstep.runtime import http
from keepstep.runtime.http import Answer, serving

BODY = b"x" * 16 * 1024 * 1024
"""More than the kernel holds for whoever does not read."""


async def test_who_takes_nothing_of_what_he_asked_for_is_hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """His connection, and what was to be sent on it, stayed for ever."""
    monkeypatch.setattr(http, "UNREAD_S", 1)
    loop = asyncio.get_running_loop()
    async with serving("127.0.0.1", 0, lambda _: Answer("200 OK", "text/plain", BODY)) as port:
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.setblocking(False)
            await loop.sock_connect(lazy, ("127.0.0.1", port))
            await loop.sock_sendall(lazy, b"GET /metrics HTTP/1.1\r\n\r\n")
            await asyncio.sleep(4)  # the kernel's clock, which cannot be set, and its looks at a window that stays shut
            read = 0
            async with asyncio.timeout(20):
                try:
                    while block := await loop.sock_recv(lazy, 1 << 20):
                        read += len(block)
                except ConnectionError:
                    pass
            assert read < len(BODY)
