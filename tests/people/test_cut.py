"""Cutting: within the bytes, between characters, with a mark; of a digest no id is lost."""

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepstep.adapters.channel_cut import cut, fitted
from keepstep.contracts.taxonomy import Language
from keepstep.core.words.facts import name
from keepstep.ports.sink import Notice
from tests.people.notices import digest, ids, notice

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=400) | st.text(
    "节点é👩\u200d🚀\u0301a ", max_size=200
)


@settings(deadline=None)
@given(TEXTS, st.integers(0, 300), st.sampled_from(["", "…", "… (cut)", "…（已截断）"]))
def test_a_cut_text_fits_and_is_a_beginning_with_a_mark(text: str, most: int, mark: str) -> None:
    short = cut(text, most, mark)
    assert len(short.encode()) <= most
    if len(text.encode()) <= most:
        assert short == text
    elif len(mark.encode()) <= most:
        assert short.endswith(mark)
        assert text.startswith(short.removesuffix(mark))


@settings(deadline=None)
@given(TEXTS, st.integers(8, 200))
@example("\u0300\u200d\U00010000\U00010000", 8)  # begins with an accent: where all goes, nothing is torn
@example("abc\u302e" + "c" * 9, 8)  # a mark that takes room of its own
def test_a_cut_takes_as_much_as_there_is_room_for_and_tears_nothing_apart(text: str, most: int) -> None:
    short = cut(text, most, "…")
    if len(text.encode()) <= most:
        return
    kept = short.removesuffix("…")
    rest = text[len(kept) :]
    assert not kept or not unicodedata.combining(rest[0])
    assert not kept.endswith("\u200d")
    whole = 0
    while whole < len(rest) and (unicodedata.combining(rest[whole]) or rest[whole] in "\u200d\ufe0f" or whole == 0):
        whole += 1
    cluster_goes_on = whole < len(rest) and rest[whole - 1] == "\u200d"
    if not cluster_goes_on and all(ord(one) < 0x300 or "一" <= one <= "龥" for one in rest[:whole]):
        assert len((kept + rest[:whole] + "…").encode()) > most


def length(one: Notice) -> int:
    """Return the size of a rendering that doubles what is quoted, as JSON and markup do."""
    told = "".join([one.title, one.text.replace("<", "＜"), *(name + value for name, value in one.facts)])
    listed = "".join(f"{member.title} {member.incident}\n" for member in one.members)
    return len((told + listed).encode()) + 100 + sum(len(link.url) for link in one.links)


@settings(deadline=None)
@given(TEXTS, st.integers(300, 2_000), st.sampled_from(Language))
def test_a_notice_that_is_too_long_is_cut_in_its_text_until_it_fits(text: str, most: int, language: Language) -> None:
    long = notice(text=text * 9 + "<" * 50)
    (short,) = fitted(long, length, most, language)
    assert length(short) <= max(most, length(replace(long, text="", links=(), facts=())))
    if length(long) <= most:
        assert short == long
    else:
        assert name("cut", language) in short.text


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(700, 4_096))
def test_a_digest_is_split_and_loses_no_incident(count: int, most: int) -> None:
    storm = digest(count)
    pages = fitted(storm, length, most, Language.EN)
    assert [one for page in pages for one in ids(page)] == list(ids(storm))
    assert all(length(page) <= most for page in pages)
    assert len({page.title for page in pages}) == len(pages)


def test_a_digest_that_fits_stays_as_it_is() -> None:
    assert fitted(digest(3), length, 4_096, Language.EN) == (digest(3),)


@pytest.mark.parametrize(
    ("text", "most", "short"), [("节点故障", 9, "节点…"), ("节点故障", 8, "节…"), ("abc", 2, "…"[:0])]
)
def test_a_character_of_three_bytes_goes_whole(text: str, most: int, short: str) -> None:
    made = cut(text, most, "…")
    assert made == short or (most < 3 and len(made.encode()) <= most)
