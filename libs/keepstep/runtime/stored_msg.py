"""Messages as the client must take them: whoever may publish may have written anything, and none of it stops a reader.

nats-py tells the server's idle heartbeats and flow control by two headers and an empty body. A stored message that
looked so the client kept to itself: it was never acknowledged, and all that came after it waited for ever. The
server's own words carry no ``$JS.ACK`` reply, which what a stream holds always has.

The server takes bytes for subjects and headers. Over a subject that is no text, or headers that are none, the client
(nats-py 2.16) stopped reading, and so it did again at each delivery.
"""

from dataclasses import dataclass

from nats.aio.client import Client as NatsConnection
from nats.aio.msg import Msg
from nats.js.api import Header

_DELIVERED = "$JS.ACK."


@dataclass
class StoredMsg(Msg):
    """A message whose status, if a stream delivered it, is nobody's."""

    def __post_init__(self) -> None:
        """Take the status out of the headers, which the client looks at after it made the message of them."""
        if self.headers and self.reply.startswith(_DELIVERED):
            self.headers.pop(Header.STATUS.value, None)


def hand_over_whatever_comes(connection: NatsConnection) -> None:
    """Have the connection hand over everything that a stream delivers, whatever it looks like."""
    connection.msg_class = StoredMsg
    take, read = connection._process_msg, connection._process_headers

    async def taken(sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        await take(sid, _text(subject), _text(reply), data, headers)

    async def headers_of(headers: bytes) -> dict[str, str] | None:
        try:
            return await read(headers)
        except Exception:
            return None

    connection._process_msg = taken  # type: ignore[method-assign]  # nothing public comes before the client's decoding
    connection._process_headers = headers_of  # type: ignore[method-assign]  # nor between its reading and its stop


def _text(name: bytes) -> bytes:
    """Return the name with what is no text written out: such a subject is nobody's, so that the message is garbled."""
    return name if name.isascii() else name.decode(errors="backslashreplace").encode()
