"""Several messages in one write of the stream: all of them are in it or none.

A stream that outlives its machine writes each message through to the disk, 4 to 16 ms for one; of an atomic batch
(https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-50.md) it does so once, before its answer.
The bus takes them from 2.12 on, from streams that were made for it; an older one stores such messages one by one, and
says so at the first.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any

from nats.aio.client import Client as NatsConnection
from nats.errors import StaleConnectionError

from keepstep.adapters.nats_errors import translated
from keepstep.runtime.letter import Letter

MOST = 500
"""Messages of one; the bus takes a thousand."""
ID, PLACE, LAST = "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit"
HEADERS = 256
"""Bytes of a message's limit that a batch takes for itself, generously."""
WITHIN_S = 10.0
"""For the bus to take all of one, after which it drops those that it has."""


async def put(connection: NatsConnection, letters: Sequence[Letter]) -> bool:
    """Put at most MOST letters into the stream; returns whether it has all of them now.

    Where not, some may be there all the same, by a bus that stores them one by one: whoever says them again one by one
    says none twice. Raises Transient where the bus does not answer, after which nobody knows.
    """
    name = secrets.token_hex(8)  # tells batches that are under way apart, and is kept nowhere
    headers = [one.headers | {ID: name, PLACE: str(place)} for place, one in enumerate(letters, 1)]
    headers[-1][LAST] = "1"
    with translated(f"saying {len(letters)} messages at once"):
        if not connection.is_connected:
            raise StaleConnectionError  # nothing of a batch is to wait for the connection: the bus drops it by then
        first = await connection.request(letters[0].subject, letters[0].body, timeout=WITHIN_S, headers=headers[0])
        if len(letters) == 1 or first.data:
            return _taken(first.data) == len(letters)
        for one, told in zip(letters[1:-1], headers[1:-1], strict=True):
            await connection.publish(one.subject, one.body, headers=told)
        end = letters[-1]
        last = await connection.request(end.subject, end.body, timeout=WITHIN_S, headers=headers[-1])
    return _taken(last.data) == len(letters)


def _taken(answer: bytes) -> int:
    """Return how many messages of a batch the bus says that it has; 0 for a refusal and for a bus without batches."""
    try:
        told: Any = json.loads(answer)
    except ValueError:
        return 0
    count = told.get("count") if isinstance(told, dict) else None
    return count if isinstance(count, int) else 0
