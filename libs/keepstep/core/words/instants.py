"""How instants are written: found in an English sentence, and told in Chinese with the zone that they are of."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

INSTANT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC| ?[+-]\d\d:?\d\d)"
"""An instant as messages hold it, and as a channel of another zone writes it."""
_PARTS = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d:\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z| UTC| ?([+-])(\d\d):?(\d\d))")


def moment(found: str) -> str:
    """Return an instant as a Chinese sentence has it: ``2026 年 1 月 2 日 03:04:05（UTC+8）``."""
    parts = _PARTS.fullmatch(found)
    assert parts is not None  # noqa: S101 - the hole's own pattern
    year, month, day, time, second, sign, hours, minutes = parts.groups()
    seconds = f":{second}" if second not in (None, "00") else ""
    ahead = timedelta() if sign is None else timedelta(hours=int(hours), minutes=int(minutes))
    zone = zone_words(-ahead if sign == "-" else ahead)
    return f"{year} 年 {int(month)} 月 {int(day)} 日 {time}{seconds}{zone}"


def zone_words(ahead: timedelta) -> str:
    """Return a zone by how far it is ahead of UTC: ``（UTC+8）``, ``（UTC-3:30）``, ``（UTC）``."""
    minutes = round(ahead.total_seconds() / 60)
    if minutes == 0:
        return "（UTC）"
    hours, rest = divmod(abs(minutes), 60)
    return f"（UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02d}' if rest else ''}）"


def in_zone(text: str, local: Callable[[datetime], datetime]) -> str:
    """Return a text of ours with its instants to the second in a zone: ``2026-01-02 11:04:05 +0800``."""
    return re.sub(INSTANT, lambda found: written(local(_read(found[0]))), text)


def written(at: datetime) -> str:
    """Return an instant in its own zone as English has it, to the second and with its offset."""
    return at.strftime("%Y-%m-%d %H:%M:%S") + (at.strftime(" %z") if at.utcoffset() else " UTC")


def _read(found: str) -> datetime:
    return datetime.fromisoformat(found.replace(" UTC", "Z").replace(" +", "+").replace(" -", "-"))
