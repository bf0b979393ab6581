r"""Text of others keeps its colours on a terminal and has no other power over it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepstep.core.harmless import harmless, harmless_cell

RED, PLAIN = "\x1b[31m", "\x1b[0m"
SGR = re.compile(r"\x1b\[[0-9;:]*m")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("step 1 \u2713 \u4e2d\u6587 \U0001f600\ttab\nline", "step 1 \u2713 \u4e2d\u6587 \U0001f600\ttab\nline"),
        (f"{RED}red{PLAIN} plain", f"{RED}red{PLAIN} plain"),
        (f"{RED}red", f"{RED}red{PLAIN}"),
        ("\x1b[1;38:2:1:2:3mx\x1b[m", "\x1b[1;38:2:1:2:3mx\x1b[m"),
        ("\x1b[38;5;8mx\x1b[m", "\x1b[38;5;8mx\x1b[m"),
        ("\x1b[48;2;8;8;8mx\x1b[m", "\x1b[48;2;8;8;8mx\x1b[m"),
        ("\x1b[8mhidden", r"\u001b[8mhidden"),
        ("\x1b[1;38;2;1;2;3;08mhidden", r"\u001b[1;38;2;1;2;3;08mhidden"),
        ("\x1b[38;8mhidden", r"\u001b[38;8mhidden"),
        ("a\x1b[2Jb", r"a\u001b[2Jb"),
        ("\x1b]0;title\x07", r"\u001b]0;title\u0007"),
        ("\x1b]52;c;cm0g\x1b\\", "\\u001b]52;c;cm0g\\u001b\\"),
        ("\x1b[6n\x1b[c\x1b[>4;2m\x1b[?1000h", r"\u001b[6n\u001b[c\u001b[>4;2m\u001b[?1000h"),
        ("\x9b2J\x9d0;title\x9c\x85", r"\u009b2J\u009d0;title\u009c\u0085"),
        ("\x07" * 3, r"\u0007" * 3),
        ("99%\r100%\x08\x7f\x0b\x0c", r"99%\u000d100%\u0008\u007f\u000b\u000c"),
        ("user\u202enimda\u2066", r"user\u202enimda\u2066"),
        ("half\ud800", r"half\ud800"),
    ],
)  # fmt: skip
def test_colours_pass_and_powers_are_shown(written: str, shown: str) -> None:
    assert harmless(written) == shown


def test_a_cell_stays_in_its_line_and_column() -> None:
    assert harmless_cell("a\nb\tc") == r"a\u000ab\u0009c"


@given(st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x2FFF), max_size=60))
def test_nothing_but_colours_ever_reaches_the_terminal(text: str) -> None:
    left = SGR.sub("", harmless(text))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", left)


def test_json_stays_json() -> None:
    document = {"text": "a\x1b[2J\x9b2J\u202e\r"}
    assert json.loads(harmless(json.dumps(document, ensure_ascii=False))) == document
