"""The report as one HTML file: no script, no link to anywhere, everything that was said escaped."""

from collections.abc import Iterable, Sequence
from importlib.resources import files

from keepstep.cli.report import draw, words
from keepstep.cli.report.gather import Exhibit, Run
from keepstep.cli.report.markup import Markup, joined, tag
from keepstep.cli.show import stage_name
from keepstep.core.timeline import Timeline

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may do for this page: show it."""
OPEN_UP_TO = 3
"""Incidents whose details are unfolded; of more, people unfold what they look for."""


def page(run: Run) -> str:
    """Return the whole document."""
    name = f"{run.job.ref.name}: keepstep report"
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("title", name),
        tag("style", Markup(files("keepstep.cli.report").joinpath("report.css").read_text(encoding="utf-8"))),
    )
    body = tag("body", tag("main", *_sections(run)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _sections(run: Run) -> Iterable[Markup]:
    made = f"Report of {run.made:%Y-%m-%d %H:%M:%S %Z}"
    yield tag("header", tag("h1", run.job.ref.name), tag("p", made))
    yield tag("section", _facts(words.summary(run)), class_="summary")
    yield tag("section", tag("h2", "Where the time went"), draw.timeline(run), _legend(run), _lost(run))
    if steps := draw.steps(run):
        yield tag("section", tag("h2", "Steps"), steps, tag("p", "Dots are whole checkpoints.", class_="note"))
    if losses := draw.losses(run.losses):
        yield tag("section", tag("h2", "Loss"), losses)
    incidents = [_incident(number, one, run) for number, one in enumerate(run.incidents, 1)]
    yield tag("section", tag("h2", "Incidents"), *(incidents or [tag("p", "There was none.")]))


def _facts(rows: Iterable[tuple[str, str]]) -> Markup:
    return tag("dl", *(joined(tag("dt", key), tag("dd", value)) for key, value in rows))


def _legend(run: Run) -> Markup:
    named = [tag("li", tag("i", class_=f"k-{name}"), stage_name(name)) for name in run.totals]
    return tag("ul", *named, class_="legend")


def _lost(run: Run) -> Markup:
    return _table(("part", "seconds", "share", "what it is"), words.lost(run), numbers=(1, 2), names=(0,))


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), names: Sequence[int] = ()
) -> Markup:
    """Return a table; columns of ``numbers`` and ``names`` are as wide as they must be, and break no word."""
    if not rows:
        return Markup("")
    kinds = {**dict.fromkeys(names, "w"), **dict.fromkeys(numbers, "n")}

    def cells(name: str, row: Sequence[str]) -> Markup:
        return tag("tr", *(tag(name, cell, class_=kinds.get(at, "t")) for at, cell in enumerate(row)))

    return tag("table", tag("thead", cells("th", head)), tag("tbody", *(cells("td", row) for row in rows)))


def _incident(number: int, incident: Timeline, run: Run) -> Markup:
    unfolded = {"open": "open"} if len(run.incidents) <= OPEN_UP_TO else {}
    return tag(
        "article",
        tag("h3", words.title(number, incident)),
        _facts(words.facts(incident)),
        draw.stages(incident),
        tag(
            "details",
            tag("summary", "Stages, what was said, evidence"),
            _table(("stage", "seconds", "what it is"), words.stage_rows(incident), numbers=(1,), names=(0,)),
            _table(("after the fault", "message", "what it says"), words.entries(incident), numbers=(0,), names=(1,)),
            *map(_exhibit, run.exhibits.get(incident.incident, ())),
            **unfolded,
        ),
    )


def _exhibit(exhibit: Exhibit) -> Markup:
    lines = tag("pre", "\n".join(exhibit.lines)) if exhibit.lines else Markup("")
    return tag("figure", tag("figcaption", exhibit.title), lines)
