"""Text fits the terminal: a table gives way by its widest columns, a sentence is wrapped and never cut."""

import pytest

from keepstep.cli.columns import cells, cut, hanging, table

ROWS = [("0123456789ab", "n1", "keepstep: the supervisor of n1 is gone, its processes are known to be gone, verdict x")]
HEAD = ("ID", "NODE", "WHY")


@pytest.mark.parametrize("width", [80, 50, 40])
def test_a_table_fits_the_terminal(width: int) -> None:
    lines = table(HEAD, ROWS, width).splitlines()
    assert max(map(cells, lines)) <= width
    assert lines[1].endswith("…")
    assert " n1 " in lines[1]


def test_a_table_is_whole_where_there_is_room_or_nobody_watches() -> None:
    assert table(HEAD, ROWS, 200) == table(HEAD, ROWS)
    assert ROWS[0][2] in table(HEAD, ROWS)


def test_a_character_that_takes_two_columns_is_counted_as_two() -> None:
    assert cells("节点n1") == 6
    assert cut("节点丢失", 6) == "节点…"
    assert [cells(line) for line in table(("A", "B"), [("节点", "x"), ("n1", "y")]).splitlines()[1:]] == [7, 7]


@pytest.mark.parametrize(
    ("head", "width"), [("12:00:00  FaultDetected  train  ", 80), ("12:00:00  FaultDetected  train  ", 50)]
)
def test_a_sentence_is_wrapped_and_nothing_of_it_is_lost(head: str, width: int) -> None:
    text = "rank 3 ended by signal 9 after 12.3 s, unasked; it came before or outweighs 3 more of its peers"
    told = hanging(head, text, width)
    assert max(map(len, told.splitlines())) <= width
    assert " ".join(told.split()) == " ".join((head + text).split())
    assert hanging(head, text, None) == head + text


def test_a_word_longer_than_the_terminal_is_broken_and_not_lost() -> None:
    told = hanging("  why  ", "/" + "x" * 100, 40)
    assert max(map(len, told.splitlines())) <= 40
    assert told.count("x") == 100
