"""Waiting until rank 0 listens, before this rank connects to it.

torch looks again only 0.5 to 1 s after a refused connection. Warm ranks come up within milliseconds of each other, so
that about every second restart had a rank that came too early, and took that much longer (measured: 0.6 s).
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any, Mapping, Sequence

FIRST_LOOK_S = 0.005
WAITED_SHARE = 0.05
"""Of the time waited so far: how long until the next look, so that ranks of a late master do not besiege it."""
LIMIT_S = 60.0
"""After this long torch's own looks are frequent enough, and it is torch that says why it gives up."""


def wait_for(arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Return when the master that init_process_group(*arguments, **named) would connect to accepts connections.

    Returns at once where that is not known or not for this rank to wait for; never raises.
    """
    method = arguments[1] if len(arguments) > 1 else named.get("init_method")
    if method not in (None, "env://") or len(arguments) > 2 or named.get("store") is not None:
        return
    rank, address, port = (os.environ.get(name, "") for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"))
    if named.get("rank", -1) >= 0:
        rank = str(named["rank"])
    if rank.isdigit() and int(rank) > 0 and address and port.isdigit():
        _until_open(address, int(port))


def _until_open(address: str, port: int) -> None:
    began = time.monotonic()
    while True:
        waited = time.monotonic() - began
        try:
            socket.create_connection((address, port), timeout=1.0).close()
            return
        except ConnectionRefusedError:
            if waited > LIMIT_S:
                return
            time.sleep(FIRST_LOOK_S + WAITED_SHARE * waited)
        except OSError:
            return
