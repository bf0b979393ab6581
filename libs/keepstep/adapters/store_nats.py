"""Folds in a key-value bucket of the bus itself: nothing more to run."""

import asyncio

from nats.js import JetStreamContext
from nats.js.errors import APIError, NoKeysError, NotFoundError
from nats.js.kv import KeyValue

from keepstep.adapters.nats_errors import WRONG_LAST_SEQUENCE, translated
from keepstep.adapters.nats_keys import newest
from keepstep.contracts.ids import key_of, subject_token
from keepstep.ports.errors import Conflict
from keepstep.ports.store import Versioned

_PREFIX = "k"
"""Keeps a key from starting with a character that NATS gives a meaning."""
AT_ONCE = 64
"""Writes on their way: at a busy disk's 16 ms for each all are answered within a second. Of 400 at once the last were
not within the two that an answer has, were tried again, and the disk had ever more to do."""


class NatsStore:
    """One bucket. Keys are escaped to the letters that bucket keys may have; revisions are the bucket's sequence."""

    def __init__(self, js: JetStreamContext, bucket: str) -> None:
        self._js = js
        self._bucket = bucket
        self._opened: KeyValue | None = None
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def load(self, key: str) -> Versioned | None:
        """Return the value and its revision, or None if the key is not there."""
        with translated(f"loading {key}"):
            found = await newest(self._js, self._bucket, _escaped(key))
        return None if found is None or found.value is None else Versioned(found.value, found.revision)

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        """Write if the stored revision is still ``revision``; raises Conflict if it is not."""
        with translated(f"saving {key}"):
            bucket = await self._open()
            async with self._turns:
                if revision is None:
                    return await bucket.create(_escaped(key), value)
                return await bucket.update(_escaped(key), value, last=revision)

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Remove the key; absent is fine. With ``revision``, raises Conflict if it changed."""
        if await self.load(key) is None:
            return
        with translated(f"deleting {key}"):
            bucket = await self._open()
            try:
                async with self._turns:
                    await bucket.delete(_escaped(key), last=revision)
            except APIError as error:
                if error.err_code in WRONG_LAST_SEQUENCE and await self.load(key) is not None:
                    raise Conflict(f"{key} is no longer at revision {revision}: load it again") from error

    async def keys(self, prefix: str = "") -> tuple[str, ...]:
        """Return the keys that start with ``prefix``, sorted."""
        with translated("listing keys"):
            bucket = await self._open()
            try:
                found = await bucket.keys()
            except (NoKeysError, NotFoundError):
                return ()
        names = (_plain(key) for key in found)
        return tuple(sorted(name for name in names if name is not None and name.startswith(prefix)))

    async def _open(self) -> KeyValue:
        if self._opened is None:
            self._opened = await self._js.key_value(self._bucket)
        return self._opened


def _escaped(key: str) -> str:
    return _PREFIX + subject_token(key)


def _plain(escaped: str) -> str | None:
    """Return the key that was escaped so, or None for one that somebody else put into the bucket."""
    if not escaped.startswith(_PREFIX):
        return None
    try:
        return key_of(escaped.removeprefix(_PREFIX))
    except ValueError:
        return None
