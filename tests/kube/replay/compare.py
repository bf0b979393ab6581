"""Finds where two stories part: states at quiet instants, transitions of each object, answers to requests."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..server.objects import Obj
from .requests import Answer
from .story import Story, transitions
from .trace import Action, Mark, Trace
from .twins import UUID

_QUIET = 3.0
"""In a gap of this many seconds between a trace's events both sides are compared, in its middle."""

_SETTLED = 1.0
"""The end of a trace is compared if nothing happened for this many seconds before it."""

_NOT_TOLD = {
    ("Endpoints", "FailedToUpdateEndpoint"),
    ("Service", "FailedToUpdateEndpointSlices"),
    ("JobSet", "JobCreationFailed"),
}
"""Events of controllers that are not here, and of a race between two attempts over one name."""

_TOLD = 160
"""Messages are compared to this length: the traces cut long ones in the middle."""


def instants(trace: Trace, stalled: Sequence[tuple[float, float]]) -> list[float]:
    """Return when to compare: not where the script waits for something, nor where the real cluster stood still."""
    times = sorted({0.0, *(line.t for line in trace.lines)})
    skipped = [*stalled, *_waits(trace)]
    middles = [(a + b) / 2 for a, b in pairwise(times) if b - a >= _QUIET]
    quiet_end = all(times[-1] - line.t > _SETTLED for line in trace.seen)
    return [at for at in middles if not any(a < at < b for a, b in skipped)] + ([times[-1]] if quiet_end else [])


def _waits(trace: Trace) -> Iterator[tuple[float, float]]:
    for before, mark in pairwise(trace.script):
        if isinstance(mark, Mark) and mark.note.startswith("seen: "):
            yield before.t, mark.t


def states(real: Story, at: float, mine: Story, now: float) -> Iterator[str]:
    """Compare all objects as they stand at an instant of the trace and at one of this run."""
    there, here = real.at(at), mine.at(now)
    for alias in sorted(there.keys() | here.keys()):
        if alias not in here or alias not in there:
            yield f"{at:.2f} {alias}: {'there' if alias in there else 'here'} only"
            continue
        for key in sorted(there[alias].keys() | here[alias].keys()):
            a, b = there[alias].get(key), here[alias].get(key)
            if a != b:
                yield f"{at:.2f} {alias} {key}: {b!r}, not {a!r}"


def lives(real: Story, mine: Story) -> Iterator[str]:
    """Compare each object's transitions."""
    for alias in sorted(real.lives.keys() | mine.lives.keys()):
        there, here = real.lives.get(alias), mine.lives.get(alias)
        if there is None or here is None:
            yield f"life of {alias}: {'here' if there is None else 'there'} only"
        elif (a := transitions(there)) != (b := transitions(here)):
            yield f"life of {alias}: {b}, not {a}"


def told(trace: Trace, events: Iterable[Obj]) -> Iterator[str]:
    """Compare core/v1 events: each reason that the trace tells of a kind must be told here."""
    there = {(told.about.split("/")[0], told.reason) for told in trace.told} - _NOT_TOLD
    here = {(event["involvedObject"]["kind"], event["reason"]) for event in events}
    for kind, reason in sorted(there - here):
        yield f"no event {reason} of a {kind}"


def answers(action: Action, answer: Answer) -> Iterator[str]:
    """Compare an answer: its code, and of a refusal reason, message, causes and Retry-After."""
    asked = f"{action.t} {action.verb} {action.kind} {action.name} {action.sub} ({action.note})"
    if answer.code != action.code:
        yield f"{asked}: {answer.code} {answer.status.get('message', '')}, not {action.code}"
        return
    if action.code < 300:
        return
    there, here = action.status, answer.status
    pairs = {
        "reason": (there.get("reason", ""), here.get("reason", "")),
        "message": (_shape(there.get("message", "")), _shape(here.get("message", ""))),
        "causes": (_causes(there), _causes(here)),
        "Retry-After": (action.retry_after, answer.retry_after),
    }
    for told, (a, b) in pairs.items():
        if a != b:
            yield f"{asked}: {told} is {b!r}, not {a!r}"


def _causes(status: Obj) -> list[tuple[str, str]]:
    causes = (status.get("details") or {}).get("causes") or ()
    return [(one.get("reason", ""), one.get("field", "")) for one in causes]


def _shape(message: str) -> str:
    """Return the message up to a value that is a whole object, without what differs from run to run."""
    cut = re.split(r"Invalid value: [{\[]", message)[0]
    return re.sub(r"-[a-z0-9]{5}\b", "-*", re.sub(r"\d{3,}", "N", UUID.sub("UID", cut)))[:_TOLD]
