"""When an isolation ends, in one sentence: by whom, by itself once its node is ready, or after its time."""

from datetime import UTC, datetime, timedelta

from keepstep.contracts.events import DeviceIsolated, NodeIsolated

BY_HAND = "until a person releases it"


def isolation_end(message: NodeIsolated | DeviceIsolated) -> str:
    """Return when what was isolated takes jobs again, as far as the message tells."""
    after = message.release_after
    if message.until is None:
        return BY_HAND
    until = day_time(message.until)
    if after is None:
        return f"until {until}, sooner by a person, or where it was lost once it is ready again"
    if message.when_ready:
        return f"until it was ready for {_seconds(after)} s, or by a person"
    return f"until {until}, then released once it was ready for {_seconds(after)} s; sooner by a person"


def day_time(at: datetime) -> str:
    """Return an instant as people read it, to the second: ``2026-01-02 03:04:05 UTC``."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g}"
