"""Where folds are kept for speed; losing it loses nothing, the stream is the truth."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Versioned:
    """A stored value and the revision to compare with when writing it again."""

    value: bytes
    revision: int


class Store(Protocol):
    """A map from key to bytes with compare-and-set; keys are any non-empty text.

    Every method raises Transient while the backend cannot be reached.
    """

    async def load(self, key: str) -> Versioned | None:
        """Return the value and its revision, or None if the key is not there."""

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        """Write if the stored revision is still ``revision`` (None: not there); return the new one.

        Revisions of a key only grow, also over delete and create. Raises Conflict if somebody else wrote.
        """

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Remove the key; absent is fine. With ``revision``, raises Conflict if it changed."""

    async def keys(self, prefix: str = "") -> tuple[str, ...]:
        """Return the keys that start with ``prefix``, sorted."""
