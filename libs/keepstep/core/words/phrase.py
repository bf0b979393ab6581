"""A phrase: an English sentence with holes, which is read as it is written, and the same in Chinese."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from keepstep.core.words.holes import HOLES

HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_FULL = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef“”]")
"""Chinese signs and their punctuation, full in width."""
SAID = "said"
"""The kind of a hole that holds another sentence."""


class Part(NamedTuple):
    """What was found in one hole."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True)
class Phrase:
    """One sentence in two languages; a hole is ``{name:kind}``, without a kind one word."""

    english: str
    chinese: str

    @cached_property
    def holes(self) -> Mapping[str, str]:
        """The kind of each hole."""
        return {found[1]: found[2] or "word" for found in HOLE.finditer(self.english)}

    @cached_property
    def weight(self) -> int:
        """How many characters are the phrase's own: of two that fit the heavier one is meant."""
        return len(HOLE.sub("", self.english))

    @cached_property
    def bare(self) -> bool:
        """Whether it has neither words nor a word of a set: that two halves are joined tells only if both are read."""
        loose = all(kind in (SAID, "word", "text", "thing") for kind in self.holes.values())
        return loose and not any(map(str.isalpha, HOLE.sub("", self.english)))

    @cached_property
    def opens(self) -> bool:
        """Whether it begins with a hole that takes anything: then what it took may be the beginning of another."""
        found = HOLE.match(self.english)
        return found is not None and (found[2] or "word") in ("word", "text", "code", "deadline")

    @cached_property
    def looks(self) -> tuple[str, str, str]:
        """How it begins and ends, and the longest piece of its own: what lacks one need not be looked at closer."""
        own = HOLE.split(self.english)[::3]
        return own[0], own[-1], max(own, key=len)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pieces, at = list[str](), 0
        for found in HOLE.finditer(self.english):
            pieces.append(re.escape(self.english[at : found.start()]))
            kind = found[2] or "word"
            pattern = r"(?s:.+?)" if kind == SAID else HOLES[kind].pattern
            pieces.append(f"(?P<{found[1]}>{pattern})")
            at = found.end()
        return re.compile("".join((*pieces, re.escape(self.english[at:]))))

    def parts(self, sentence: str) -> tuple[Part, ...] | None:
        """Return what fills the holes in a sentence, None for a sentence that is not this phrase."""
        found = self._pattern.fullmatch(sentence)
        if found is None:
            return None
        return tuple(Part(name, kind, found[name]) for name, kind in self.holes.items())

    def filled(self, fillings: Mapping[str, str]) -> str:
        """Return the Chinese with its holes filled; a space parts Chinese from other scripts, and from nothing else."""
        whole, at = "", 0
        for found in HOLE.finditer(self.chinese):
            whole = joined(joined(whole, self.chinese[at : found.start()]), fillings[found[1]])
            at = found.end()
        return joined(whole, self.chinese[at:])


def joined(left: str, right: str) -> str:
    """Return two pieces of a Chinese sentence as one."""
    before, after = left.rstrip(" "), right.lstrip(" ")
    if not before or not after:
        return left + right
    if _FULL.match(before[-1]) and _FULL.match(after):
        return before + after
    if before is left and after is right and {_script(before[-1]), _script(after[0])} == {"han", "latin"}:
        return f"{left} {right}"
    return left + right


def _script(sign: str) -> str:
    return "han" if _HAN.match(sign) else "latin" if sign.isascii() and sign.isalnum() else ""


def heaviest_first(tables: Iterable[Mapping[str, str]]) -> tuple[Phrase, ...]:
    """Return the phrases of all tables in the order in which they are tried."""
    phrases = [Phrase(english, chinese) for table in tables for english, chinese in table.items()]
    return tuple(sorted(phrases, key=lambda phrase: (-phrase.weight, phrase.bare)))
