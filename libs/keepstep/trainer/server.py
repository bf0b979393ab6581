"""The launcher's end of the socket: one agent at a time, never blocked by it and never ended by what it says."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Callable, Optional

from keepstep.trainer import system
from keepstep.trainer.loop import Loop
from keepstep.trainer.wire import Decoder, Line, encode

MAX_UNSENT = 8 * 1024 * 1024
"""An agent that reads this little is stuck; it is dropped and hears the exits again when it is back."""
SENSELESS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What comes of reading garbage as an order: no line may end the launcher, whose end is that of its ranks."""


class Server:
    """Listens at a path; a newer connection replaces the older."""

    def __init__(self, path: str, loop: Loop, greet: Callable[[], None], obey: Callable[[Line], None]) -> None:
        """Listen; a socket left behind by an earlier launcher is replaced.

        ``greet`` is called at each connection, ``obey`` with each order; it raises one of ``SENSELESS`` for one it does
        not understand, which ends the connection and nothing else.
        """
        self._loop, self._greet, self._obey = loop, greet, obey
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._path = path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A path of more than 107 bytes cannot be bound; its folder's descriptor makes it short.
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.listener.bind("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
        finally:
            os.close(folder)
        os.chmod(path, 0o600)
        self.listener.listen(4)
        self.listener.setblocking(False)
        self._agent: Optional[socket.socket] = None
        self._decoder = Decoder()
        self._unsent = b""
        loop.watch(self.listener, self._accept)

    def say(self, line: Line) -> None:
        """Say a line to the agent, if one is there; what it cannot take now goes when it can."""
        if self._agent is None:
            return
        self._unsent += encode(line)
        self._flush()

    def close(self) -> None:
        """Say what is left, within a second, stop listening and take the socket away."""
        if self._agent is not None:
            self._agent.settimeout(1.0)
            with contextlib.suppress(OSError):
                self._agent.sendall(self._unsent)
        self._drop()
        self._loop.forget(self.listener)
        self.listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    def _accept(self) -> None:
        try:
            agent, _ = self.listener.accept()
        except OSError:
            return
        # What the older agent had sent before it went, such as an acknowledgement, still counts.
        self._ready()
        self._drop()
        agent.setblocking(False)
        self._agent, self._decoder = agent, Decoder()
        self._loop.watch(agent, self._ready)
        self._greet()

    def _drop(self) -> None:
        if self._agent is not None:
            self._loop.forget(self._agent)
            self._agent.close()
        self._agent, self._unsent = None, b""

    def _ready(self) -> None:
        self._flush()
        try:
            for line in self._decoder.feed(self._receive()):
                self._obey(line)
        except SENSELESS as error:
            system.log("the agent is cut off, its order makes no sense: %r" % error)
            self._drop()

    def _receive(self) -> bytes:
        """Return what has arrived; nothing if that was the end of the connection."""
        if self._agent is None:
            return b""
        try:
            received = self._agent.recv(1 << 16)
        except BlockingIOError:
            return b""
        except OSError:
            received = b""
        if not received:
            self._drop()
        return received

    def _flush(self) -> None:
        if self._agent is None:
            return
        try:
            self._unsent = self._unsent[self._agent.send(self._unsent) :] if self._unsent else b""
        except BlockingIOError:
            pass
        except OSError:
            self._drop()
        if len(self._unsent) > MAX_UNSENT:
            self._drop()
        if self._agent is not None:
            self._loop.watch(self._agent, self._ready, writable=bool(self._unsent))
