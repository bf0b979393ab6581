"""The line to the launcher: connects again for ever, gives each message to whoever steers."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from keepstep.adapters.unix_socket import short_name
from keepstep.trainer.wire import SOCKET, Decoder, Line, encode

_FIRST_RETRY_S = 0.02
_LAST_RETRY_S = 0.1
_BLOCK = 256 * 1024

_log = logging.getLogger(__name__)


class Link:
    """A unix socket to the launcher of this task."""

    def __init__(self, task_dir: Path) -> None:
        self._path = task_dir / SOCKET
        self._writer: asyncio.StreamWriter | None = None

    @property
    def connected(self) -> bool:
        """Whether orders reach the launcher now."""
        return self._writer is not None

    def order(self, line: Line) -> None:
        """Send an order; without a connection it is dropped, the launcher's next hello starts reconciling anew."""
        if self._writer is not None:
            self._writer.write(encode(line))

    async def sent(self) -> None:
        """Wait until what was ordered has left this process."""
        if self._writer is not None:
            await self._writer.drain()

    async def listen(self, heard: Callable[[Line], None], lost: Callable[[], None]) -> None:
        """Call ``heard`` with every line, ``lost`` when the connection ends, and connect again; never returns."""
        wait = _FIRST_RETRY_S
        while True:
            try:
                with short_name(self._path) as name:
                    reader, self._writer = await asyncio.open_unix_connection(name)
            except OSError:
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LAST_RETRY_S)
                continue
            wait = _FIRST_RETRY_S
            try:
                await self._read(reader, heard)
            except (OSError, ValueError) as error:
                _log.warning("launcher=%s line lost because=%s", self._path, error)
            finally:
                self._writer.close()
                self._writer = None
                lost()
            await asyncio.sleep(_FIRST_RETRY_S)

    async def _read(self, reader: asyncio.StreamReader, heard: Callable[[Line], None]) -> None:
        decoder = Decoder()
        while block := await reader.read(_BLOCK):
            for line in decoder.feed(block):
                heard(line)
