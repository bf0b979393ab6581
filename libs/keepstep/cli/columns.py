"""Lays text out for a terminal of some width; nothing is cut where nobody watches, so that a pipe gets it whole."""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from keepstep.core.wording import counted

ELLIPSIS = "…"
GAP = "  "
NARROWEST = 6
"""Of a column that must give way: an ellipsis and enough to tell one from another."""
LEAST_WIDTH = 40
"""A terminal that says it is narrower is laid out for this; its own wrapping is as good then."""
HANGING_LEAST = 30
"""Less room than this for a sentence beside its head, and it goes below."""


def terminal_width() -> int | None:
    """Return how many characters fit into a line of standard output; None where it is no terminal."""
    if not sys.stdout.isatty():
        return None
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None) -> str:
    """Return columns as wide as their widest cell; of what does not fit into ``width`` the widest give way first.

    Where there are no rows, ``none`` stands under the header: nobody has to wonder whether the rest is still to come.
    """
    told = [tuple(row) for row in rows] or [("none", *("" for _ in head[1:]))]
    lines = [tuple(head), *told]
    widths = [max(cells(line[column]) for line in lines) for column in range(len(head))]
    if width is not None:
        widths = _fitted(widths, width - len(GAP) * (len(head) - 1))
    return "\n".join(
        GAP.join(_padded(cut(cell, limit), limit) for cell, limit in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _fitted(widths: list[int], room: int) -> list[int]:
    """Return the widths with the widest made narrower, one character at a time, until they fit or none can give."""
    fitted = list(widths)
    while sum(fitted) > room and max(fitted) > NARROWEST:
        fitted[max(range(len(fitted)), key=lambda column: (fitted[column], column))] -= 1
    return fitted


def cut(text: str, limit: int) -> str:
    """Return the text, or as much of it as fits with an ellipsis for the rest."""
    if cells(text) <= limit:
        return text
    kept, room = "", limit - 1
    for letter in text:
        room -= cells(letter)
        if room < 0:
            break
        kept += letter
    return kept + ELLIPSIS


def shortened(text: str, most: int) -> str:
    """Return the text, or its first ``most`` columns and how much was left out: what a rank prints has no bound."""
    kept = cut(text[: most + 1], most)
    return text if kept == text else f"{kept} ({counted(len(text) - len(kept) + len(ELLIPSIS), 'more character')})"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def cells(text: str) -> int:
    """Return how many columns of a terminal the text takes: a Chinese character takes two."""
    return len(text) if text.isascii() else sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def hanging(head: str, sentence: str, width: int | None) -> str:
    """Return head and sentence in one line, or with the sentence wrapped beside or, for want of room, below its head.

    Nothing of it is lost.
    """
    if width is None or cells(head) + cells(sentence) <= width:
        return head + sentence
    indent = cells(head)
    if width - indent < HANGING_LEAST:
        indent = 4
        return "\n".join([head.rstrip(), *_wrapped(sentence, indent, width)])
    first, *rest = _wrapped(sentence, indent, width)
    return "\n".join([head + first.lstrip(), *rest])


def _wrapped(sentence: str, indent: int, width: int) -> list[str]:
    margin = " " * indent
    return textwrap.wrap(sentence, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False) or [
        margin
    ]
