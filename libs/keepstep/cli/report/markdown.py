"""The report as Markdown, for a ticket or a mail: the same words, and the timeline in characters, to scale."""

import re
from collections.abc import Iterable, Sequence

from keepstep.cli.report import words
from keepstep.cli.report.draw import duration
from keepstep.cli.report.gather import Exhibit, Run
from keepstep.cli.report.markup import cleaned
from keepstep.core.spent import PRODUCTIVE, STARTUP, Piece
from keepstep.core.timeline import Timeline

COLUMNS = 72
SIGNS = {PRODUCTIVE: "█", STARTUP: "░"}
"""Everything else is an interruption."""
INTERRUPTED = "▼"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def document(run: Run) -> str:
    """Return the whole document."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterable[str]:
    yield f"# {plain(run.job.ref.name)}: keepstep report"
    yield f"\n{run.made:%Y-%m-%d %H:%M:%S %Z}\n"
    yield from _table(("", ""), words.summary(run))
    yield "\n## Where the time went\n"
    if run.pieces:
        yield f"```\n{bar(run.pieces)}\n0{duration(sum(one.seconds for one in run.pieces)):>{COLUMNS - 1}}\n```\n"
        yield "░ start, █ training, ▼ interruption\n"
    yield from _table(("part", "seconds", "share", "what it is"), words.lost(run))
    yield "\n## Incidents\n"
    if not run.incidents:
        yield "There was none."
    for number, incident in enumerate(run.incidents, 1):
        yield from _incident(number, incident, run)


def _incident(number: int, incident: Timeline, run: Run) -> Iterable[str]:
    yield f"### {plain(words.title(number, incident))}\n"
    yield from _table(("", ""), words.facts(incident))
    yield ""
    yield from _table(("stage", "seconds", "what it is"), words.stage_rows(incident))
    yield ""
    yield from _table(("after the fault", "message", "what it says"), words.entries(incident))
    yield ""
    for exhibit in run.exhibits.get(incident.incident, ()):
        yield from _exhibit(exhibit)


def _exhibit(exhibit: Exhibit) -> Iterable[str]:
    yield f"**{plain(exhibit.title)}**\n"
    if exhibit.lines:
        body = "\n".join(line for text in exhibit.lines for line in cleaned(text).splitlines())
        fence = "`" * max(3, *(len(found) + 1 for found in re.findall(r"`+", body)), 3)
        yield f"{fence}\n{body}\n{fence}\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(plain, row))} |"


def plain(text: str) -> str:
    """Return the text in one line, with nothing in it that Markdown or HTML would take for markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(cleaned(text).split()))


def bar(pieces: Sequence[Piece]) -> str:
    """Return the wall time in characters, to scale; an interruption below a character's length shows as one."""
    begin, wall = pieces[0].begin, sum(one.seconds for one in pieces)
    signs = [SIGNS[PRODUCTIVE]] * COLUMNS
    for piece in sorted(pieces, key=lambda one: one.incident is not None):
        first = int((piece.begin - begin).total_seconds() / wall * COLUMNS)
        last = int((piece.end - begin).total_seconds() / wall * COLUMNS)
        for at in range(first, min(max(last, first + (piece.incident is not None)), COLUMNS)):
            signs[at] = SIGNS.get(piece.name, INTERRUPTED)
    return "".join(signs)
