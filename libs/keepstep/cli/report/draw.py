"""The report's drawings, as inline SVG: every length is to scale, and each part tells its name and seconds."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from keepstep.cli.report.gather import Run
from keepstep.cli.report.markup import Markup, joined, tag
from keepstep.cli.show import stage_name
from keepstep.core.saving import Saved
from keepstep.core.spent import Piece
from keepstep.core.timeline import Timeline

T = TypeVar("T")

WIDTH, LEFT, RIGHT = 1000, 62, 16
"""Of a drawing, and beside its plot for the axis's numbers."""
SPAN = WIDTH - LEFT - RIGHT
NICE = (1, 2, 5)
CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000)
"""Seconds between the numbers of a time axis."""
LETTER = 7
"""Width of a letter within a bar, on average and generously."""
POINTS = 1500
"""Points of a line; more than the drawing has columns, so that a longer one is thinned."""


def ticks(length: float, *, about: int = 8) -> tuple[float, ...]:
    """Return round values from 0 to ``length``, about so many."""
    if not length > 0 or not math.isfinite(length):
        return (0.0,)
    rough = length / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((nice * power for nice in (*NICE, 10) if nice * power >= rough), rough)
    return tuple(number * step for number in range(int(length / step + 1e-9) + 1))


def time_ticks(length: float) -> tuple[float, ...]:
    """Return moments from 0 to ``length`` seconds, about eight, at which a clock has round numbers."""
    every = next((step for step in CLOCK if step >= length / 8), None)
    if length < 8 or every is None:
        return ticks(length)
    return tuple(float(number * every) for number in range(int(length / every + 1e-9) + 1))


def duration(seconds: float) -> str:
    """Return ``0.25 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 d 4 h``."""
    if seconds < 60:
        return f"{seconds:.3g} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    for large, small, size, per in (("d", "h", 86400, 3600), ("h", "min", 3600, 60), ("min", "s", 60, 1)):
        if whole >= size:
            rest = whole % size // per
            return f"{whole // size} {large}" + (f" {rest} {small}" if rest else "")
    raise AssertionError(seconds)


class Scale:
    """From seconds after the run's begin to a place in the drawing."""

    def __init__(self, begin: datetime, end: datetime) -> None:
        self.begin = begin
        self.length = max((end - begin).total_seconds(), 1e-9)

    def x(self, at: datetime) -> float:
        """Return the place of a moment."""
        return LEFT + SPAN * min(1.0, max(0.0, (at - self.begin).total_seconds() / self.length))


def timeline(run: Run) -> Markup:
    """Return the whole run as one bar, to scale, with a mark above each incident."""
    if not run.pieces:
        return tag("p", "The job was never accepted, so there is no time to tell of.")
    scale = Scale(run.pieces[0].begin, run.pieces[-1].end)
    bars = [_bar(piece, scale, 26, 44) for piece in run.pieces]
    marks = [_mark(number, one, scale) for number, one in enumerate(run.incidents, 1)]
    return _svg("The run's wall time", 112, *bars, *marks, _time_axis(scale, 84))


def _bar(piece: Piece, scale: Scale, top: float, height: float) -> Markup:
    left, right = scale.x(piece.begin), scale.x(piece.end)
    says = tag("title", f"{stage_name(piece.name)}: {duration(piece.seconds)}")
    place = {"x": f"{left:.2f}", "y": top, "width": f"{max(right - left, 0):.2f}", "height": height}
    return tag("rect", says, class_=f"s-{piece.name}", **place)


def _mark(number: int, incident: Timeline, scale: Scale) -> Markup:
    x = scale.x(incident.occurred)
    says = f"incident {number}: {incident.category or 'undiagnosed'}"
    points = f"{x:.2f},24 {x - 5:.2f},14 {x + 5:.2f},14"
    return joined(
        tag("polygon", tag("title", says), points=points, class_="mark"),
        tag("text", number, x=f"{x:.2f}", y=11, text_anchor="middle", class_="axis"),
    )


def _time_axis(scale: Scale, top: float) -> Markup:
    told: list[Markup] = []
    for seconds in time_ticks(scale.length):
        x = LEFT + SPAN * seconds / scale.length
        told.append(tag("line", x1=f"{x:.2f}", x2=f"{x:.2f}", y1=top - 14, y2=top - 8, class_="tick"))
        told.append(tag("text", duration(seconds), x=f"{x:.2f}", y=top + 6, text_anchor="middle", class_="axis"))
    return joined(*told)


def stages(incident: Timeline) -> Markup:
    """Return an incident's stages as one bar, to scale of its wall time."""
    wall = sum(stage.seconds for stage in incident.stages)
    if not wall > 0:
        return Markup("")
    left, drawn = 0.0, []
    for stage in incident.stages:
        width = WIDTH * stage.seconds / wall
        says = tag("title", f"{stage_name(stage.name)}: {duration(stage.seconds)}")
        drawn.append(tag("rect", says, x=f"{left:.2f}", y=0, width=f"{width:.2f}", height=22, class_=f"s-{stage.name}"))
        words = f"{stage_name(stage.name)} {duration(stage.seconds)}"
        if width > LETTER * (len(words) + 1):
            drawn.append(tag("text", words, x=f"{left + width / 2:.2f}", y=15, text_anchor="middle", class_="inside"))
        left += width
    return _svg("The incident's stages", 22, *drawn)


def steps(run: Run) -> Markup:
    """Return the steps over the run's time, with its interruptions behind and its checkpoints as dots."""
    if not run.pieces or not run.marks:
        return Markup("")
    scale = Scale(run.pieces[0].begin, run.pieces[-1].end)
    height, most = 200.0, max(1, *(mark.step for mark in run.marks))

    def y(step: float) -> float:
        return 8 + height * (1 - step / most)

    behind = [_bar(piece, scale, 8, height) for piece in run.pieces if piece.incident is not None]
    marks = sorted(run.marks, key=lambda mark: mark.at)
    line = tag("polyline", points=_points((scale.x(mark.at), y(mark.step)) for mark in marks), class_="line")
    saved = [_dot(one, scale.x(one.at), y(one.step)) for one in thinned(run.checkpoints)]
    return _svg(
        "Steps over time",
        height + 36,
        tag("g", *behind, class_="behind"),
        _left_axis(most, y),
        line,
        *saved,
        _time_axis(scale, height + 22),
    )


def _dot(saved: Saved, x: float, y: float) -> Markup:
    took = "" if saved.save_s is None else f", saved in {duration(saved.save_s)}"
    says = tag("title", f"checkpoint of step {saved.step}{took}")
    return tag("circle", says, cx=f"{x:.2f}", cy=f"{y:.2f}", r=3, class_="saved")


def losses(told: Sequence[tuple[int, float]]) -> Markup:
    """Return the loss over the step; a step that was made again is drawn again."""
    if len(told) < 2:
        return Markup("")
    first, last = min(step for step, _ in told), max(step for step, _ in told)
    low, high = min(loss for _, loss in told), max(loss for _, loss in told)
    height, wide, tall = 200.0, max(1, last - first), (high - low) or 1.0

    def place(step: int, loss: float) -> tuple[float, float]:
        return LEFT + SPAN * (step - first) / wide, 8 + height * (1 - (loss - low) / tall)

    line = tag("polyline", points=_points(place(step, loss) for step, loss in thinned(told)), class_="line")
    numbers = [
        tag("text", f"{value:.4g}", x=LEFT - 6, y=f"{at:.2f}", text_anchor="end", class_="axis")
        for value, at in ((high, 14), (low, 8 + height))
    ]
    axis = [
        tag("text", f"step {step}", x=f"{x:.2f}", y=height + 28, text_anchor=anchor, class_="axis")
        for step, x, anchor in ((first, LEFT, "start"), (last, LEFT + SPAN, "end"))
    ]
    return _svg("Loss over steps", height + 36, line, *numbers, *axis)


def thinned(told: Sequence[T]) -> Sequence[T]:
    """Return at most ``POINTS`` of them, evenly, the last one always."""
    if len(told) <= POINTS:
        return told
    every = len(told) / (POINTS - 1)
    return [*(told[int(number * every)] for number in range(POINTS - 1)), told[-1]]


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in thinned(list(places)))


def _left_axis(most: int, y: Callable[[float], float]) -> Markup:
    told: list[Markup] = []
    for value in ticks(most, about=5):
        told.append(tag("line", x1=LEFT, x2=LEFT + SPAN, y1=f"{y(value):.2f}", y2=f"{y(value):.2f}", class_="grid"))
        told.append(tag("text", f"{value:g}", x=LEFT - 6, y=f"{y(value) + 4:.2f}", text_anchor="end", class_="axis"))
    return joined(*told)


def _svg(label: str, height: float, *parts: object) -> Markup:
    box = f"0 0 {WIDTH} {height:g}"
    return tag("svg", *parts, viewBox=box, role="img", aria_label=label, xmlns="http://www.w3.org/2000/svg")
