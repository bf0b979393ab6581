"""The line to the launcher, over a real socket."""

import asyncio
import os
import socket
from pathlib import Path

from keepstep.agent.link import Link
from keepstep.trainer.wire import SOCKET, Line, encode


async def test_a_launcher_in_a_deep_folder_is_reached(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 20) / ("deeper" * 10)
    folder.mkdir(parents=True)
    server = socket.socket(socket.AF_UNIX)
    descriptor = os.open(folder, os.O_RDONLY)
    server.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
    os.close(descriptor)
    server.listen()

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode({"say": "hello"}))
        await writer.drain()
        writer.close()

    heard: asyncio.Queue[Line] = asyncio.Queue()
    async with await asyncio.start_unix_server(greet, sock=server):
        listening = asyncio.create_task(Link(folder).listen(heard.put_nowait, lambda: None))
        assert await asyncio.wait_for(heard.get(), 5) == {"say": "hello"}
        listening.cancel()
