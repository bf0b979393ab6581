"""A store that lives and dies with its process: for tests and for folds that are cheap to replay."""

from keepstep.ports.errors import Conflict
from keepstep.ports.store import Versioned


class MemoryStore:
    """Keys in a dictionary; one counter gives revisions, so that a key created anew gets a higher one."""

    def __init__(self) -> None:
        self._held: dict[str, Versioned] = {}
        self._revision = 0

    async def load(self, key: str) -> Versioned | None:
        """Return the value and its revision, or None if the key is not there."""
        return self._held.get(key)

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        """Write if the stored revision is still ``revision``; raises Conflict if it is not."""
        self._compare(key, revision)
        self._revision += 1
        self._held[key] = Versioned(value, self._revision)
        return self._revision

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Remove the key; absent is fine. With ``revision``, raises Conflict if it changed."""
        if key in self._held and revision is not None:
            self._compare(key, revision)
        self._held.pop(key, None)

    async def keys(self, prefix: str = "") -> tuple[str, ...]:
        """Return the keys that start with ``prefix``, sorted."""
        return tuple(sorted(key for key in self._held if key.startswith(prefix)))

    def _compare(self, key: str, revision: int | None) -> None:
        held = self._held.get(key)
        found = None if held is None else held.revision
        if found != revision:
            raise Conflict(f"{key} is at revision {found}, not {revision}: load it again")
