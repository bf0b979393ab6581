"""What templates of the channels file can use, and the short text that telephones get."""

from collections.abc import Mapping, Sequence

from keepstep.adapters.channel_document import document
from keepstep.adapters.channel_words import SHORT_ID, Told, Words, cleaned, worded
from keepstep.contracts.channel_parts import Spoken
from keepstep.core.words.facts import name
from keepstep.ports.sink import Notice

MORE = "…"
SIGNATURE = "keepstep"


def values_of(notice: Notice, channel: Spoken) -> Mapping[str, object]:
    """Return the notice as plain values: those of ``document``, title and lead in the channel's language."""
    words = worded(notice, channel.language, channel.zone)
    return document(cleaned(notice)) | {"title": words.title, "lead": words.lead, "sign": words.sign}


def short_texts(notice: Notice, channel: Spoken, longest: int) -> Sequence[str]:
    """Return the notice in texts of at most ``longest`` characters each: one, of a digest as many as its ids need."""
    words = worded(notice, channel.language, channel.zone)
    if not words.members:
        return (_short(words, longest),)
    return _listed(words, longest)


def spoken_text(notice: Notice, channel: Spoken, longest: int) -> str:
    """Return what is read out: of a digest how many there are and the first, for nobody notes down ids by ear."""
    words = worded(notice, channel.language, channel.zone)
    if not words.members:
        told = name("spoken", words.language).format(words.title, words.text).strip()
    else:
        told = name("spoken digest", words.language).format(len(words.members), words.members[0].title)
    return _cut(told, longest)


def _short(words: Words, longest: int) -> str:
    tail = f" {words.incident[:SHORT_ID]}" if words.incident else ""
    head = f"[{SIGNATURE}] {words.title}"
    room = longest - len(tail)
    text = f"{head}: {words.text}" if words.text else head
    return _cut(" ".join(text.split()), room) + tail


def _listed(words: Words, longest: int) -> Sequence[str]:
    """Return the starts of all ids; commands take them as they take whole ones."""
    head = f"[{SIGNATURE}] {_cut(words.title, longest // 3)}:"
    texts, line = list[str](), head
    for one in words.members:
        word = f" {_id(one)}"
        if len(line) + len(word) > longest:
            texts.append(line)
            line = f"[{SIGNATURE}]"
        line += word
    return (*texts, line)


def _id(one: Told) -> str:
    return one.incident[:SHORT_ID]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(0, longest - 1)] + MORE
