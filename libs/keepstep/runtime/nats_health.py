"""Whether a NATS server of ours that runs still does its work: signs that only a new start helps."""

import asyncio
import os
from pathlib import Path

LOG_BLOCK = 1024 * 1024
STUCK = (b"critical write error", b"failed to store a msg", b"resources, will be DISABLED")
"""The server's words for a stream, or all of JetStream, that it has stopped writing."""
ROOM = 512 * 1024
"""Bytes that the disk must take before a stuck server is started again."""
GREETING_S = 2.0
"""A server greets whoever connects, in below 1 ms."""
PATIENCE = 10
"""Connections in a row without a greeting, half a minute in all: a disk that stalls or a busy machine is waited out."""


class Silence:
    """A server that hangs: the kernel takes connections for it, and it says nothing to them, for good."""

    def __init__(self) -> None:
        self._unanswered = 0

    async def lasts(self, port: int) -> bool:
        """Connect, and tell whether it has been so for too long, once for each time that it is."""
        self._unanswered = 0 if await greets(port) else self._unanswered + 1
        if self._unanswered < PATIENCE:
            return False
        self._unanswered = 0
        return True


async def greets(port: int, *, within_s: float = GREETING_S) -> bool:
    """Return whether a server on loopback greets who connects, as NATS does."""
    try:
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                return (await reader.read(1)) != b""
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


class Complaints:
    """What the server's log says of a disk that was full: JetStream never writes again, be there room or not."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = log.stat().st_size if log.exists() else 0
        self._complained = False

    def stuck(self) -> bool:
        """Tell whether the server has stopped writing and there is room again, once for each time that it had."""
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                block = file.read(LOG_BLOCK)
            self._read += len(block)
            self._complained = self._complained or any(words in block for words in STUCK)
            if not self._complained or not self._room():
                return False
        except OSError:
            return False
        self._complained = False
        return True

    def _room(self) -> bool:
        probe = self._log.with_name("room")
        try:
            with probe.open("wb") as file:
                file.write(bytes(ROOM))
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)
        return True
