"""How much of the bus's limit a message takes: the server counts its headers, the client library does not.

What the server finds too large costs the sender its connection, and everything else on it an outage.
"""

from collections.abc import Mapping

_FRAME = len(b"NATS/1.0\r\n\r\n")
_LINE = len(b": \r\n")


def weight(headers: Mapping[str, str], body: bytes) -> int:
    """Return the bytes that the server compares with its ``max_payload``."""
    return _FRAME + sum(len(f"{name}{value}".encode()) + _LINE for name, value in headers.items()) + len(body)
