"""Folds in Redis, for deployments that run one; scripts make each compare-and-set one step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import AuthenticationError, RedisError

from keepstep.ports.errors import Conflict, Permanent, Transient
from keepstep.ports.store import Versioned

# Revisions are microseconds, raised by one where the clock stood: they grow over delete and create, and over FLUSHALL,
# where a counter would start again at 1 and let a stale writer win.
_SAVE = """
local found = redis.call('HGET', KEYS[1], 'revision') or ''
if found ~= ARGV[1] then return redis.error_reply('KEEPSTEPCONFLICT found ' .. found) end
local now = redis.call('TIME')
local revision = now[1] * 1000000 + now[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if revision <= last then revision = last + 1 end
local text = string.format('%.0f', revision)
redis.call('SET', KEYS[2], text)
redis.call('HSET', KEYS[1], 'value', ARGV[2], 'revision', text)
return text
"""
_DELETE = """
local found = redis.call('HGET', KEYS[1], 'revision') or ''
if found ~= '' and ARGV[1] ~= '' and found ~= ARGV[1] then
  return redis.error_reply('KEEPSTEPCONFLICT found ' .. found)
end
redis.call('DEL', KEYS[1])
return 'OK'
"""
_CONFLICT = "KEEPSTEPCONFLICT"


CONNECTIONS = 32
"""At once of one service; a storm's other folds wait their turn. A server takes 10,000 in all."""


class _Script(Protocol):
    async def __call__(self, *, keys: list[str], args: list[str | bytes]) -> bytes:
        """Run the script in one step."""


class RedisStore:
    """One hash per key, all under ``room``, so that services and pools share a server and nothing else."""

    def __init__(self, redis: Redis, room: str) -> None:
        self._redis = redis
        self._room = f"keepstep:{{{room}}}:"
        self._save: _Script = redis.register_script(_SAVE)
        self._delete: _Script = redis.register_script(_DELETE)

    async def load(self, key: str) -> Versioned | None:
        """Return the value and its revision, or None if the key is not there."""
        with _translated(f"loading {key}"):
            value, revision = await self._redis.hmget(self._name(key), ["value", "revision"])
        if value is None or revision is None:
            return None
        return Versioned(value if isinstance(value, bytes) else value.encode(), int(revision))

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        """Write if the stored revision is still ``revision``; raises Conflict if it is not."""
        expected = "" if revision is None else str(revision)
        with _translated(f"saving {key}"):
            return int(await self._save(keys=[self._name(key), f"{self._room}last"], args=[expected, value]))

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Remove the key; absent is fine. With ``revision``, raises Conflict if it changed."""
        expected = "" if revision is None else str(revision)
        with _translated(f"deleting {key}"):
            await self._delete(keys=[self._name(key)], args=[expected])

    async def keys(self, prefix: str = "") -> tuple[str, ...]:
        """Return the keys that start with ``prefix``, sorted."""
        start = self._name("")
        with _translated("listing keys"):
            found = [name.decode() async for name in self._redis.scan_iter(match=f"{_literal(start + prefix)}*")]
        return tuple(sorted({name.removeprefix(start) for name in found}))

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()

    def _name(self, key: str) -> str:
        return f"{self._room}fold:{key}"


def redis_store(url: str, room: str) -> RedisStore:
    """Return a store on the server at ``url`` (``redis://``, ``rediss://`` or ``unix://``); connects on first use.

    Five seconds of silence are a failure to be tried again: longer than any script, shorter than a person's patience.
    """
    pool = BlockingConnectionPool.from_url(
        url, max_connections=CONNECTIONS, timeout=None, socket_timeout=5, socket_connect_timeout=5
    )
    return RedisStore(Redis.from_pool(pool), room)


def _literal(text: str) -> str:
    return "".join(f"\\{c}" if c in "*?[]^\\" else c for c in text)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except AuthenticationError as error:
        raise Permanent(f"{what}: redis refused the password; check KEEPSTEP_STORE") from error
    except RedisError as error:
        if _CONFLICT in str(error):
            raise Conflict(f"{what}: somebody else wrote first") from error
        raise Transient(f"{what}: redis cannot be reached ({error})") from error
    except (OSError, TimeoutError) as error:
        raise Transient(f"{what}: redis cannot be reached ({error})") from error
