"""Reads one key of a key-value bucket of the bus, as its leader has it.

Not by the client's own ``get``: where a bucket allows direct gets that asks any replica, which may lag behind, and the
answer, being the bare value, could be sent to speak under any subject. The leader's answer is a JSON object.
"""

from dataclasses import dataclass

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

_GONE = ("DEL", "PURGE")


@dataclass(frozen=True)
class Found:
    """What a key holds, and the revision to compare with; ``value`` is None where the key was deleted."""

    value: bytes | None
    revision: int


async def newest(js: JetStreamContext, bucket: str, key: str, *, direct: bool = False) -> Found | None:
    """Return what the key holds, None where it never was. Raises the client's errors.

    ``direct`` is for who may read single keys only: the subject of such a request names the key.
    """
    try:
        stored = await js.get_msg(f"KV_{bucket}", subject=f"$KV.{bucket}.{key}", direct=direct)
    except NotFoundError:
        return None
    gone = (stored.headers or {}).get("KV-Operation") in _GONE
    return Found(None if gone else stored.data or b"", stored.seq or 0)
