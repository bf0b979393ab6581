"""Messages that a stream delivers, as the client must take them: none of them is the server's own word.

nats-py tells the server's idle heartbeats and flow control by two headers and an empty body. Whoever may publish may
store a message that looks so; the client kept it to itself, it was never acknowledged, and all that came after it
waited for ever. The server's own words carry no ``$JS.ACK`` reply, which what a stream holds always has.
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


def believe_no_stored_status(connection: NatsConnection) -> None:
    """Have the connection hand over everything that a stream delivers, whatever it looks like."""
    connection.msg_class = StoredMsg
