"""The test of wording can tell good from bad, and counts read as people say them."""

import pytest

from keepstep.core.sentences import counted
from tests.wording import slips


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1 tasks joined", ["1 tasks"]),
        ("0 of 1 tasks joined", ["of 1 tasks"]),
        ("1 of 3 nodes out", []),
        ("21 tasks joined, generation 1 runs", []),
        ("worker-1 ranks", []),
        ("resume from step None", ["None"]),
    ],
)
def test_one_of_many_and_none_are_found(text: str, found: list[str]) -> None:
    assert slips(text) == found


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (counted(1, "task"), "1 task"),
        (counted(0, "task"), "0 tasks"),
        (counted(2, "unknown recovery"), "2 unknown recoveries"),
        (counted(1, "node", of=3), "1 of 3 nodes"),
        (counted(0, "node", of=1), "0 of 1 node"),
    ],
)
def test_a_count_agrees_with_its_noun(words: str, text: str) -> None:
    assert words == text
