r"""Text of others as a terminal may have it: its colours, and no other power over the terminal.

A rank, a node's kernel or a system outside writes what it likes; a terminal that gets it as it is moves its cursor over
what stood there, changes its title, types answers for whoever sits before it, or shows words in another order than
they were written (ECMA-48 and xterm's control sequences; https://trojansource.codes for the order).
"""

import re

_COLOUR = r"\x1b\[[0-9;:]{0,64}m"
"""SGR alone: with a mark before its numbers (``CSI > 4 m``) the same letter sets the keyboard."""
_POWERS = (
    "\x00-\x08\x0b-\x1f\x7f"  # controls, of which only the tab and the line's end stay
    "\x80-\x9f"  # the same in one byte each, CSI and OSC among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the order of reading
    "\u2028\u2029"  # ends of lines that are none in a file
    "\ud800-\udfff"  # halves of characters, which no terminal can be sent
)
_TEXT = re.compile(f"({_COLOUR})|([{_POWERS}])")
_CELL = re.compile(f"({_COLOUR})|([\n\t{_POWERS}])")
_PLAIN = "\x1b[0m"
_CONCEAL = "8"
_COLOURS, _WIDE = ("38", "48", "58"), {"5": 1, "2": 3}
"""What chooses a colour, and how many numbers it takes by the next: of a palette, or red, green and blue."""
_ENDS = re.compile(r"\x1b\[(0*;)*0*m$")


def harmless(text: str) -> str:
    r"""Return a text with whatever has power over a terminal as ``\u001b``, which is how JSON writes it as well.

    Colours stay, and end with the text; the one that hides what follows is none.
    """
    return _shown(_TEXT, text)


def harmless_cell(text: str) -> str:
    """As ``harmless``, of what must stay in its line and column."""
    return _shown(_CELL, text)


def _shown(pattern: re.Pattern[str], text: str) -> str:
    colour = ""

    def seen(found: re.Match[str]) -> str:
        nonlocal colour
        if found[1] is None:
            return f"\\u{ord(found[2]):04x}"
        if _conceals(found[1]):
            return f"\\u001b{found[1][1:]}"
        colour = found[1]
        return colour

    told = pattern.sub(seen, text)
    return told + _PLAIN if colour and not _ENDS.match(colour) else told


def _conceals(colour: str) -> bool:
    """Tell whether one of its numbers is that for hidden text, and no part of a colour."""
    numbers = iter([number.lstrip("0") for number in colour[2:-1].split(";")])
    for number in numbers:
        told = number
        if number in _COLOURS:
            told = next(numbers, "")
            for _ in range(_WIDE.get(told, 0)):
                next(numbers, None)
        if told.partition(":")[0] == _CONCEAL:
            return True
    return False
