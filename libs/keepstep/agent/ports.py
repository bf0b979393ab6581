"""Ports that a master may listen on, offered fresh: bound and let go right before they are told."""

import socket
from contextlib import ExitStack

OFFERS = 2
"""The next one is tried when a stranger took the first in between."""


def free_ports(count: int = OFFERS) -> tuple[int, ...]:
    """Return ports that are free now on every interface, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("", 0))
        return tuple(each.getsockname()[1] for each in sockets)
