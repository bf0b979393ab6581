"""Makes a message fit: cut by UTF-8 bytes between characters with a mark that shows; a digest is split instead."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace

from keepstep.contracts.notice import Member
from keepstep.contracts.taxonomy import Language
from keepstep.core.words.facts import name
from keepstep.ports.sink import Notice

JOINER = "\u200d"
FACTS = 160
"""Bytes of a fact's value in a message that has to be shortened: node names and reasons fit."""
KEPT_FACTS = 8
MOST_ROUNDS = 40
"""Each round takes away at least what was too much, so two or three do; the bound is for what never fits."""

Size = Callable[[Notice], int]
"""Bytes that a notice takes, rendered for the vendor."""


def cut(text: str, most: int, mark: str = "") -> str:
    """Return ``text`` within ``most`` bytes of UTF-8; what was cut ends in ``mark``, which takes part of the room.

    Never splits a character, nor one from the accents and joiners that belong to it.
    """
    raw = text.encode()
    if len(raw) <= most:
        return text
    room = most - len(mark.encode())
    if room < 0:
        return raw[: max(most, 0)].decode(errors="ignore")
    kept = raw[:room].decode(errors="ignore")
    rest = text[len(kept) :]
    while kept and (kept.endswith(JOINER) or _belongs(rest[0])):
        kept, rest = kept[:-1], kept[-1] + rest
    return kept + mark


def _belongs(character: str) -> bool:
    return character == JOINER or unicodedata.category(character).startswith("M") or "\ufe00" <= character <= "\ufe0f"


def fitted(notice: Notice, size: Size, most: int, language: Language) -> tuple[Notice, ...]:
    """Return the notices that say this one, each of which takes at most ``most`` bytes by ``size``.

    One, whose text is cut where it must be; of a digest as many as its incidents need.
    """
    if notice.members:
        return _split(notice, size, most, language)
    return (_shortened(notice, size, most, language),)


def _shortened(notice: Notice, size: Size, most: int, language: Language) -> Notice:
    mark = name("cut", language)
    for shorten in (_text, _facts, _fewer_facts, _without_links, _title):
        for _ in range(MOST_ROUNDS):
            over = size(notice) - most
            if over <= 0:
                return notice
            shorter = shorten(notice, over, mark)
            if shorter == notice:
                break
            notice = shorter
    return notice


def _text(notice: Notice, over: int, mark: str) -> Notice:
    return replace(notice, text=_less(notice.text, over, mark))


def _title(notice: Notice, over: int, mark: str) -> Notice:
    return replace(notice, title=_less(notice.title, over, mark))


def _less(text: str, over: int, mark: str) -> str:
    """Return the text without at least ``over`` bytes; of one that has to go wholly, the mark is left."""
    whole = text.removesuffix(mark)
    room = max(0, len(whole.encode()) - over - len(mark.encode()))
    return text if not whole else cut(whole, room) + mark


def _facts(notice: Notice, _over: int, mark: str) -> Notice:
    return replace(notice, facts=tuple((name, cut(value, FACTS, mark)) for name, value in notice.facts))


def _fewer_facts(notice: Notice, _over: int, _mark: str) -> Notice:
    return replace(notice, facts=notice.facts[:KEPT_FACTS])


def _without_links(notice: Notice, _over: int, _mark: str) -> Notice:
    return replace(notice, links=())


def _split(notice: Notice, size: Size, most: int, language: Language) -> tuple[Notice, ...]:
    mark = name("cut", language)
    short = tuple(member.model_copy(update={"title": cut(member.title, FACTS, mark)}) for member in notice.members)
    bare = replace(notice, members=short, facts=(), text=cut(notice.text, FACTS, mark))
    if size(notice) <= most:
        return (notice,)
    chunks = _chunks(short, lambda part: size(_page(bare, part, 99, 99)) <= most)
    return tuple(
        _shortened(_page(bare, chunk, number, len(chunks)), size, most, language)
        for number, chunk in enumerate(chunks, 1)
    )


def _page(notice: Notice, members: Sequence[Member], number: int, pages: int) -> Notice:
    return replace(notice, members=tuple(members), title=f"{notice.title} ({number}/{pages})")


def _chunks(members: Sequence[Member], fits: Callable[[Sequence[Member]], bool]) -> list[Sequence[Member]]:
    """Return the members in order, parted into as few runs as fit; one that never fits is alone in its run."""
    chunks: list[Sequence[Member]] = []
    rest = members
    while rest:
        low, high = 1, len(rest)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(rest[:middle]) else (low, middle - 1)
        chunks.append(rest[:low])
        rest = rest[low:]
    return chunks
