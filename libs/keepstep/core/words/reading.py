"""Tells a sentence of the bus in the language of who reads it."""

import re
from functools import lru_cache
from typing import NamedTuple

from keepstep.contracts.taxonomy import Language
from keepstep.core.words.book import TABLES
from keepstep.core.words.holes import HOLES
from keepstep.core.words.phrase import SAID, Phrase, heaviest_first

LONGEST = 2000
"""Characters of a sentence that is read; longer ones are lines of logs."""
KEPT = 8192
"""Sentences remembered: a page shows the same ones at every look."""
PHRASES = heaviest_first(TABLES)


class Reading(NamedTuple):
    """A sentence in Chinese, and how many characters of it nobody could read."""

    text: str
    unread: int


def told(sentence: str, language: Language) -> str:
    """Return the sentence in the language; what no phrase fits, or fits in part, is left English there."""
    return sentence if language is Language.EN else reading(sentence).text


def placed(name: str, language: Language) -> str:
    """Return who or where something is, ``rank 3, node n2``, in the language; a name that is no such stays."""
    if language is Language.EN or re.fullmatch(HOLES["subject"].pattern, name) is None:
        return name
    return HOLES["subject"].read(name)


def reading(sentence: str) -> Reading:
    """Return the sentence in Chinese; a sentence that is too long to be one is left as it is."""
    return _read(sentence) if 0 < len(sentence) <= LONGEST else Reading(sentence, len(sentence))


@lru_cache(KEPT)
def _read(sentence: str) -> Reading:
    """Take the heaviest phrase that leaves nothing unread, else the one that leaves least, else clause by clause."""
    best = Reading(sentence, len(sentence))
    for phrase in PHRASES:
        found = _as(phrase, sentence)
        if found is not None and found.unread < best.unread:
            best = found
        if best.unread == 0:
            return best
    clauses = sentence.split("; ")
    if len(clauses) == 1:
        return best
    read = [_read(clause) for clause in clauses]
    unread = sum(one.unread for one in read) + len("; ") * (len(read) - 1) * any(one.unread for one in read)
    return min(best, Reading("；".join(one.text for one in read), unread), key=lambda one: one.unread)


def _as(phrase: Phrase, sentence: str) -> Reading | None:
    parts = phrase.parts(sentence)
    if parts is None:
        return None
    fillings, unread = dict[str, str](), 0
    for name, kind, text in parts:
        within = _read(text) if kind == SAID else Reading(HOLES[kind].read(text), 0)
        fillings[name], unread = within.text, unread + within.unread
    if unread and phrase.bare:
        return None
    return Reading(phrase.filled(fillings), unread)
