"""What of a sink's address may be seen: webhook addresses carry their secret in the path or the query."""

import re
from urllib.parse import urlsplit

HIDDEN = "***"
"""What stands in the place of a secret."""
_BEYOND_NAME = re.compile(r"[:/?#@\s]")


def masked(sink: str) -> str:
    """Return the sink's name for logs and events: of an address only scheme, host and port.

    Of what is no whole address, as one without its scheme, what stands before the first sign that no name has.
    """
    try:
        parts = urlsplit(sink)
        host, port = parts.hostname, parts.port
    except ValueError:
        return _BEYOND_NAME.split(sink, maxsplit=1)[0]
    if not parts.scheme or not host:
        return _BEYOND_NAME.split(sink, maxsplit=1)[0]
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port else "")
