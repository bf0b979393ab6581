"""Parameters that listings share: what a form left empty was not asked for."""

from enum import StrEnum
from typing import Annotated, TypeVar

from fastapi import Query

E = TypeVar("E", bound=StrEnum)

Text = Annotated[str, Query(max_length=300)]
After = Text
"""Where a listing goes on, as the page before said."""


def filled(text: str) -> str | None:
    """Return what was written into a field, None for nothing."""
    return text.strip() or None


def chosen(text: str, words: type[E]) -> E | None:
    """Return what was chosen of a list, None for any: also for a word that an old link has and the list no more."""
    return words(text) if text in tuple(words) else None
