"""Regular expressions that people write, for ranks' output and for the names of checkpoints.

A pattern such as ``(a+)+$`` holds Python's own engine, and the whole process with it, for years on one long line. The
engine behind pydantic has no backtracking, and so neither look-around nor back-references, but tells no groups either.
"""

import re

from pydantic_core import SchemaError, SchemaValidator, core_schema


class Pattern:
    """A compiled regular expression; raises ValueError with what is wrong with it."""

    def __init__(self, regex: str) -> None:
        try:
            self._validator = SchemaValidator(core_schema.str_schema(pattern=regex))
        except SchemaError as error:
            raise ValueError(_reason(str(error))) from error

    def found_in(self, text: str) -> bool:
        """Return whether the text has a part that matches."""
        return self._validator.isinstance_python(text)


class GroupPattern:
    """A compiled regular expression that tells its named groups; raises ValueError with what is wrong with it.

    What the engine without backtracking does not find is not looked for again, and no group that repeats may hold
    what can match one text in several ways: the rest is short work for Python's engine too.
    """

    def __init__(self, regex: str) -> None:
        try:
            self._groups = re.compile(regex)
        except re.error as error:
            raise ValueError(f"it does not compile: {error}") from error
        self._found = Pattern(regex)
        if _repeats_a_choice(regex):
            raise ValueError("a group followed by *, + or {} holds another repetition, ? or |: it may take for ever")

    @property
    def names(self) -> frozenset[str]:
        """The names of its groups."""
        return frozenset(self._groups.groupindex)

    def search(self, text: str) -> dict[str, str | None] | None:
        """Return what the groups hold in the first part of the text that matches, or None if none does."""
        match = self._groups.search(text) if self._found.found_in(text) else None
        return None if match is None else match.groupdict()


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\??|\)|\{[^}]*\}|.", re.DOTALL)
"""An escape, a class, an opening or closing bracket, a count, or one character: each can be read in one way alone."""


def _repeats_a_choice(regex: str) -> bool:
    """Return whether a group that repeats holds a repetition, an option or an alternative."""
    choices, last = [False], False
    """Of each open group, whether it holds a choice; and whether what was read last is a group that does."""
    for token in _TOKEN.findall(regex):
        closed = False
        match token[0]:
            case "(":
                choices.append(False)
            case ")":
                closed = choices.pop()
                choices[-1] = choices[-1] or closed
            case "*" | "+" | "{" if last:
                return True
            case "*" | "+" | "{" | "?" | "|":
                choices[-1] = True
            case _:
                pass
        last = closed
    return False


def _reason(text: str) -> str:
    """Return the engine's own last line, as in ``error: look-around ... is not supported``."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (reasons or lines[-1:] or ["it does not compile"])[-1].rstrip('"')
