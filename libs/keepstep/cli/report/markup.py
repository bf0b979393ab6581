"""HTML and SVG as text in which everything that came from outside is escaped, since logs may hold anything."""

import re
from html import escape

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""What no HTML document may hold: control characters, halves of surrogates."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return anything as escaped text; markup stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(cleaned(str(value))))


def cleaned(said: str) -> str:
    """Return the text without what no document may hold."""
    return _NO_TEXT.sub("\ufffd", said)


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; of attributes ``class_`` is ``class`` and ``_`` is ``-``."""
    told = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    inside = "".join(text(child) for child in children)
    return Markup(f"<{name}{told}>{inside}</{name}>")


def joined(*parts: object) -> Markup:
    """Return the parts one after the other."""
    return Markup("".join(text(part) for part in parts))
