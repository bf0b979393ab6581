"""What of a sink's address may be seen: webhook addresses carry their secret in the path or the query."""

from urllib.parse import urlsplit


def masked(sink: str) -> str:
    """Return the sink's name for logs and events: of an address only scheme, host and port."""
    try:
        parts = urlsplit(sink)
        host, port = parts.hostname, parts.port
    except ValueError:
        return sink.partition(":")[0]
    if not parts.scheme or not host:
        return sink.partition(":")[0]
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port else "")
