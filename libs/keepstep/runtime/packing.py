"""Long JSON made short: a fold of thousands of tasks repeats itself, and a message or a stored value has a limit."""

import zlib
from base64 import b64decode, b64encode

_MARK = "zlib:"
"""No JSON text begins like this."""
FOLD_CHARACTERS = 32 * 1024
"""A fold shorter than this is written as it is: packing would cost more time than writing it does."""


def pack(text: str, *, over: int = FOLD_CHARACTERS) -> str:
    """Return the text as it is, or packed to about a tenth of its size where it has more than ``over`` characters."""
    if len(text) <= over:
        return text
    return _MARK + b64encode(zlib.compress(text.encode(), 1)).decode("ascii")


def unpack(packed: str) -> str:
    """Return the text that was packed. Raises ValueError for what nobody packed."""
    if not packed.startswith(_MARK):
        return packed
    try:
        return zlib.decompress(b64decode(packed.removeprefix(_MARK))).decode()
    except zlib.error as error:
        raise ValueError(f"not a packed text: {error}") from error
