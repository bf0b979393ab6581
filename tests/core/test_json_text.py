"""Whoever reads what others wrote meets one kind of error."""

import json

import pytest

from keepstep.core.json_text import parsed


@pytest.mark.parametrize("text", ["[" * 100_000, b'{"a":' * 100_000, "{", "", b"\xff", "9" * 10_000])
def test_what_cannot_be_read_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


def test_what_is_nested_too_deep_is_told_so() -> None:
    with pytest.raises(json.JSONDecodeError, match="nested too deep"):
        parsed("[" * 100_000)


def test_what_can_be_read_is_what_it_says() -> None:
    assert parsed('{"a": [1, null]}') == {"a": [1, None]}
