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
BETWEEN = "; "
"""What stands between clauses."""
MOST_CLAUSES = 12
AROUND = (": ", ", ")
"""What stands between the words around a sentence and the sentence."""
PHRASES = heaviest_first(TABLES)
_LOOKS = tuple((*phrase.looks, phrase) for phrase in PHRASES)


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
    """Read the sentence as one, else as the clauses between its semicolons that leave least unread."""
    whole = _as_one(sentence)
    clauses = sentence.split(BETWEEN)
    if whole.unread == 0 or not 1 < len(clauses) <= MOST_CLAUSES:
        return whole
    best = [Reading("", 0)]
    for end in range(1, len(clauses) + 1):
        ways = [_then(best[start], _as_one(BETWEEN.join(clauses[start:end]))) for start in range(end)]
        best.append(min(ways, key=lambda way: way.unread))
    return min(whole, best[-1], key=lambda one: one.unread)


def _then(left: Reading, right: Reading) -> Reading:
    """Return two readings as one; a semicolon beside what was not read is not ours to write otherwise."""
    if not left.text:
        return right
    unread = left.unread + right.unread
    return Reading(f"{left.text}；{right.text}", unread + len(BETWEEN) * bool(unread))


@lru_cache(KEPT)
def _as_one(sentence: str) -> Reading:
    """Take the heaviest phrase that leaves nothing unread, else the one that leaves least.

    One that may begin with anything could have taken in the words around it: one that begins with words of its own
    and leaves nothing unread goes first.
    """
    best, sure = Reading(sentence, len(sentence)), not any(sign in sentence for sign in AROUND)
    for begin, end, mark, phrase in _LOOKS:
        if mark not in sentence or not sentence.startswith(begin) or not sentence.endswith(end):
            continue
        if best.unread == 0 and phrase.opens:
            continue
        found = _as(phrase, sentence)
        if found is not None and found.unread < best.unread + (best.unread == 0):
            best = found
        if best.unread == 0 and (sure or not (phrase.opens or found is None)):
            break
    return best


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
