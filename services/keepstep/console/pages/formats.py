"""How values are written on a page: seconds, shares, instants, and text from anywhere made harmless to read."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import quote

from markupsafe import Markup

from keepstep.contracts.taxonomy import Language

MINUTE, HOUR, DAY = 60, 3600, 86_400
NOTHING = "\N{EN DASH}"
"""Stands where nothing is known."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)
"""Characters without a shape of their own, of which some turn the direction of what follows (Unicode UAX 9)."""


def visible(value: object) -> object:
    """Return text with characters that are not seen, or turn the others around, written as their numbers.

    Every value that a template writes passes here: a job's name, a log line, a reason may hold anything. Markup of our
    own passes as it is.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", value)


def clipped(text: str, most: int = 300) -> str:
    """Return at most so many characters, with a sign where some were cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def duration(seconds: float | None) -> str:
    """Return seconds as people say them: ``0.35 s``, ``12.3 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 d 4 h``."""
    if seconds is None:
        return NOTHING
    if seconds < MINUTE:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, part, words in ((DAY, HOUR, ("d", "h")), (HOUR, MINUTE, ("h", "min")), (MINUTE, 1, ("min", "s"))):
        if whole >= unit:
            return f"{whole // unit} {words[0]} {whole % unit // part} {words[1]}"
    return f"{whole} s"


def share(value: float | None) -> str:
    """Return a ratio from 0 to 1 as a percentage with one digit."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def number(value: float | None) -> str:
    """Return a number with its thousands parted by thin spaces."""
    if value is None:
        return NOTHING
    whole = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    return whole.replace(",", "\N{NARROW NO-BREAK SPACE}")


def instant(at: datetime | None, language: Language, *, fine: bool = False) -> Markup | str:
    """Return an instant in UTC as a ``time`` element; ``fine`` writes milliseconds and no day.

    Chinese writes the day as CLDR has it for zh-CN, with leading zeros, as these stand in columns.
    """
    if at is None:
        return NOTHING
    utc = at.astimezone(UTC)
    day, zone = ("%Y/%m/%d", "（UTC）") if language is Language.ZH else ("%Y-%m-%d", " UTC")
    shown = f"{utc:%H:%M:%S}.{utc.microsecond // 1000:03d}" if fine else utc.strftime(f"{day} %H:%M:%S")
    whole = utc.strftime(f"{day} %H:%M:%S.%f") + zone
    return Markup('<time datetime="{}" title="{}">{}</time>').format(utc.isoformat(), whole, shown)


def segment(text: str) -> str:
    """Return text as one part of a path."""
    return quote(text, safe="")


def zipped(words: Iterable[str]) -> list[tuple[str, str]]:
    """Return each word with itself, as the choices of a field whose words are shown as they are sent."""
    return [(word, word) for word in words]
