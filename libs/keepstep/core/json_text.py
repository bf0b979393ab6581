"""JSON that somebody else wrote: a mistake of its writer is one kind of error, whatever the mistake is."""

import json
from typing import Any


def parsed(text: str | bytes) -> Any:
    """Return what it says. Raises ValueError, a JSONDecodeError also where it is nested deeper than can be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("nested too deep", "", 0) from None
