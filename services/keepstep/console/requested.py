"""What a request says of itself, where more than one room asks."""

from urllib.parse import quote

from starlette.types import Scope

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
OURS = frozenset({"same-origin", "none"})
"""What browsers tell (Sec-Fetch-Site) of a request that a page of ours makes, or a person by his own hand."""


def path_of(scope: Scope) -> str:
    """Return the path as it was asked for, whose escapes still tell a name's slash or question mark from the path's."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.decode("ascii", "replace")
