"""Cuts a growing file into lines that can be matched, whatever is written to it, and knows each line's offset."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from keepstep.contracts.model import Frozen
from keepstep.contracts.pattern import Pattern
from keepstep.contracts.policy import LogPattern
from keepstep.contracts.taxonomy import Category

LINE_LIMIT = 64 * 1024
"""A line longer than this is matched by its beginning and the rest of it skipped."""
MATCH_LIMIT = 8 * 1024
"""Characters of a line that are matched: bounds what a flood of long lines costs."""

_END = re.compile(rb"[\r\n]")
"""Progress bars end their lines with a carriage return."""


class Position(Frozen):
    """Where reading of a file stands; ``life`` counts how often the file was truncated or replaced."""

    inode: int = 0
    life: int = 0
    offset: int = 0
    skipping: bool = False
    """Inside the rest of a line that was too long."""


@dataclass(frozen=True)
class Line:
    """A line of output and the offset of its first byte."""

    offset: int
    text: str


def aim(position: Position, *, inode: int, size: int) -> Position:
    """Return where to read on: at the start, in the next life, if the file was replaced or is shorter than before."""
    if position.inode == 0:
        return position.model_copy(update={"inode": inode})
    if inode != position.inode or size < position.offset:
        return Position(inode=inode, life=position.life + 1)
    return position


def cut(position: Position, block: bytes) -> tuple[Position, tuple[Line, ...]]:
    """Return the position after ``block``, which was read at the position, and the lines completed by it."""
    lines, start, skipping = [], 0, position.skipping
    for end in _END.finditer(block):
        if not skipping and end.start() > start:
            lines.append(_line(position.offset + start, block[start : end.start()]))
        start, skipping = end.end(), False
    if not skipping and len(block) - start >= LINE_LIMIT:
        lines.append(_line(position.offset + start, block[start:]))
        skipping = True
    if skipping:
        start = len(block)
    return position.model_copy(update={"offset": position.offset + start, "skipping": skipping}), tuple(lines)


def _line(offset: int, raw: bytes) -> Line:
    return Line(offset=offset, text=raw[: 4 * MATCH_LIMIT].decode(errors="replace")[:MATCH_LIMIT])


class Rule(Frozen):
    """A pattern's name and category, as LogMatched tells them."""

    name: str
    category: Category


class Rules:
    """Compiled patterns; the first that matches a line names it, the job's own before the built-in ones."""

    def __init__(self, patterns: Sequence[LogPattern]) -> None:
        self._patterns = [
            (Pattern(pattern.regex), Rule(name=pattern.name, category=pattern.category)) for pattern in patterns
        ]

    def match(self, text: str) -> Rule | None:
        """Return the rule that the line matches, or None."""
        return next((rule for pattern, rule in self._patterns if pattern.found_in(text)), None)


class Allowance:
    """How often one rule may speak: a noisy line must not fill the stream."""

    def __init__(self, count: int = 5, window_s: float = 10.0) -> None:
        self._count = count
        self._window_s = window_s
        self._said: dict[str, list[float]] = {}

    def take(self, rule: str, now: float) -> bool:
        """Return whether the rule may speak now (monotonic seconds), and count it if so."""
        recent = [at for at in self._said.get(rule, []) if now - at < self._window_s]
        allowed = len(recent) < self._count
        self._said[rule] = [*recent, now] if allowed else recent
        return allowed
