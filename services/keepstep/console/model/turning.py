"""Turning a listing page by page: the next one begins behind the thing that ended the one before."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")
N = TypeVar("N", bound=Hashable)


def turned(found: Sequence[T], name: Callable[[T], N], *, after: N | None, limit: int) -> tuple[Sequence[T], N | None]:
    """Return so many things from behind the one of a name on, and the name to go on behind, None at the end.

    Behind a name that is no longer there nothing follows.
    """
    start = 0
    if after is not None:
        start = next((place + 1 for place, one in enumerate(found) if name(one) == after), len(found))
    shown = found[start : start + limit]
    return shown, name(shown[-1]) if start + limit < len(found) else None
