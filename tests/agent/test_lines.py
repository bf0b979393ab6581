"""Lines of a growing file, whatever is written to it."""

import pytest

from keepstep.agent.lines import LINE_LIMIT, MATCH_LIMIT, Allowance, Line, Position, Rules, aim, cut
from keepstep.contracts.policy import LogPattern
from keepstep.contracts.taxonomy import Category

START = Position(inode=7)


def texts(lines: tuple[Line, ...]) -> list[tuple[int, str]]:
    return [(line.offset, line.text) for line in lines]


@pytest.mark.parametrize(
    ("block", "expected", "offset"),
    [
        (b"one\ntwo\n", [(0, "one"), (4, "two")], 8),
        (b"one\nunfinish", [(0, "one")], 4),
        (b"10%\r20%\rdone\n", [(0, "10%"), (4, "20%"), (8, "done")], 13),
        (b"\r\n\n", [], 3),
        (b"\xff\xfe\x00bin\n", [(0, "\ufffd\ufffd\x00bin")], 7),
        (b"", [], 0),
    ],
)
def test_blocks_are_cut_into_lines(block: bytes, expected: list[tuple[int, str]], offset: int) -> None:
    position, lines = cut(START, block)
    assert texts(lines) == expected
    assert position.offset == offset


def test_a_line_found_in_two_pieces_is_one_line() -> None:
    position, _ = cut(START, b"Los")
    position, lines = cut(position, b"Loss nan\n")
    assert texts(lines) == [(0, "Loss nan")]
    assert position.offset == 9


def test_an_endless_line_is_matched_by_its_beginning_and_skipped() -> None:
    position, lines = cut(START, b"Loss nan" + b"x" * LINE_LIMIT)
    assert [(line.offset, line.text[:8], len(line.text)) for line in lines] == [(0, "Loss nan", MATCH_LIMIT)]
    position, lines = cut(position, b"y" * LINE_LIMIT)
    assert lines == ()
    position, lines = cut(position, b"zz\nnext\n")
    assert [line.text for line in lines] == ["next"]
    assert position.offset == 8 + 2 * LINE_LIMIT + 8


@pytest.mark.parametrize(
    ("position", "inode", "size", "expected"),
    [
        (Position(), 7, 10, Position(inode=7)),
        (Position(inode=7, offset=5), 7, 10, Position(inode=7, offset=5)),
        (Position(inode=7, offset=5), 7, 4, Position(inode=7, life=1)),
        (Position(inode=7, offset=5, life=1, skipping=True), 8, 10, Position(inode=8, life=2)),
    ],
)
def test_a_truncated_or_replaced_file_begins_a_new_life(
    position: Position, inode: int, size: int, expected: Position
) -> None:
    assert aim(position, inode=inode, size=size) == expected


def test_the_first_rule_that_matches_names_the_line() -> None:
    rules = Rules(
        (
            LogPattern(name="loss", regex=r"(?i)loss nan", category=Category.USER_CODE),
            LogPattern(name="any-loss", regex="loss", category=Category.UNKNOWN),
        )
    )
    found = [rule.name if (rule := rules.match(text)) else None for text in ("step 3 LOSS NaN", "loss 0.3", "ok")]
    assert found == ["loss", "any-loss", None]


def test_a_noisy_rule_is_held_and_others_speak() -> None:
    allowance = Allowance(count=2, window_s=10)
    taken = [allowance.take("a", now) for now in (0, 1, 2, 3)]
    assert taken == [True, True, False, False]
    assert allowance.take("b", 3)
    assert allowance.take("a", 10.5)


def test_no_pattern_holds_the_agent_up_on_a_line_it_does_not_match() -> None:
    """Python's own engine takes longer than the universe has lasted for these fifty characters."""
    rules = Rules((LogPattern(name="evil", regex=r"(a+)+$"), LogPattern(name="plain", regex="Loss nan")))
    assert rules.match("a" * 50 + "b") is None
    found = rules.match("epoch 3: Loss nan")
    assert found is not None
    assert found.name == "plain"
