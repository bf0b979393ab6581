"""Connections that may not dawdle, for servers on uvicorn (0.54), which waits for ever for a head or a body.

Its time of keep-alive ends with the first byte that comes, so a peer that sends a byte now and then holds a connection
and its file for good, and a few hundred of them the whole server.
"""

import asyncio
import logging
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""For a request's head, from its first byte or the connection's beginning on: a head is one packet or a few."""
BODY_S = 60.0
"""For all of a body: the longest that is taken, 16 MiB, at 2 Mbit/s."""
LINGER_S = 1.0
"""For who was told that he is late to read it."""
MOST = 800
"""Connections at once, streams and idle ones included: below the 1024 files that a process may usually have open."""
_LATE = b"the request did not come in time; send it in one go\n"
_HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]

_log = logging.getLogger(__name__)


class Hasty(H11Protocol):
    """Ends a connection whose request does not come in time, with 408 where nothing was answered yet."""

    head_s, body_s, most = HEAD_S, BODY_S, MOST

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._due: asyncio.TimerHandle | None = None
        self._ended = False
        self._awaits: object | None = None
        """The state of h11's in which the peer has something to send, and since when it is timed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        """Take a connection, or end it at once where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            _log.warning("connections=%s are open and no further one is taken", self.most)
            transport.abort()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came in."""
        if not self._ended:
            super().data_received(data)
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._wait(None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the rest of what has begun to come; for what has not it is uvicorn's time of keep-alive."""
        super().on_response_complete()
        self._wait(None)
        if self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]:
            self._watch()

    def _watch(self) -> None:
        """Count from when the peer began what it is at: more bytes of the same give it no more time."""
        state = self.conn.their_state
        awaited = state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()
        self._wait(state if awaited else None)

    def _wait(self, awaits: object | None) -> None:
        if awaits is self._awaits:
            return
        if self._due is not None:
            self._due.cancel()
        self._awaits = awaits
        within = self.head_s if awaits is h11.IDLE else self.body_s
        self._due = None if awaits is None else self.loop.call_later(within, self._late)

    def _late(self) -> None:
        if not self.transport.is_closing() and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (h11.Response(status_code=408, headers=_HEADERS), h11.Data(data=_LATE), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self._end()

    def _end(self) -> None:
        """Say that this was all, and hear no more: closed with bytes unread, the kernel takes the answer back too."""
        self._ended = True
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.transport.resume_reading()
            self.loop.call_later(LINGER_S, self.transport.abort)
        else:
            self.transport.close()
