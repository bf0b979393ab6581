"""Which rules match a message, and what they ask for together: one message for each sink, whatever rules name it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from keepstep.contracts.channel_parts import RANK
from keepstep.contracts.notification import Escalation, Route
from keepstep.contracts.taxonomy import AlertKind, Category, Severity, Stage
from keepstep.notifier.core.endings import ENDS, UNTOLD, Audience, leads_on, louder, mark, weight, weight_for
from keepstep.notifier.core.quiet import held_until


@dataclass(frozen=True)
class Case:
    """What rules look at."""

    severity: Severity
    kinds: tuple[AlertKind, ...]
    stage: Stage
    pool: str
    job: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    category: Category | None = None


@dataclass(frozen=True)
class Recipient:
    """One sink that is to get a message, and how."""

    sink: str
    mention: tuple[str, ...] = ()
    hold: datetime | None = None
    gather: timedelta = timedelta(0)
    escalate: tuple[Escalation, ...] = ()
    weight: Severity = Severity.INFO
    """How loud it is to this sink: an end as loud as what that was told of the thread."""
    follows: bool = False
    """It is to be told how the thread ends."""


def recipients(routes: Sequence[Route], case: Case, now: datetime, *, told: Audience = UNTOLD) -> tuple[Recipient, ...]:
    """Return who gets it, each sink once: called are all whom any rule calls, and it waits only if all rules wait.

    ``told``: who was told of its thread, and so gets its end as well, by a step of an escalation too.
    """
    found: dict[str, Recipient] = {}
    for route in routes:
        if (one := _asked(route, case, now, told)) is not None:
            found[route.sink] = _together(found[route.sink], one) if route.sink in found else one
    for sink in _called(routes, told, case):
        found.setdefault(sink, _end(sink, case, told))
    return tuple(found.values())


def matches(route: Route, case: Case) -> bool:
    """Tell whether the rule asks for it."""
    loud = RANK[weight(case.stage, case.severity)] >= RANK[route.minimum]
    of_kind = not route.kinds or not set(route.kinds).isdisjoint(case.kinds)
    return loud and of_kind and _is_about(route, case) and (not route.categories or case.category in route.categories)


def _asked(route: Route, case: Case, now: datetime, told: Audience) -> Recipient | None:
    """Return the rule's sink if it asks for the message, or was told of what this ends: then of whatever kind it is.

    A hang ends as a tolerance, and with the cause it turned out to have.
    """
    if matches(route, case):
        return _recipient(route, case, now, told)
    if _is_end(route.sink, case, told) and _is_about(route, case):
        return replace(_recipient(route, case, now, told), mention=(), escalate=())
    return None


def _called(routes: Iterable[Route], told: Audience, case: Case) -> Iterable[str]:
    """Yield whom an escalation told of what this ends."""
    sinks = (step.sink for route in routes for step in route.escalate)
    return (sink for sink in sinks if sink and _is_end(sink, case, told))


def _is_end(sink: str, case: Case, told: Audience) -> bool:
    return case.stage in ENDS and mark(sink) in told


def _end(sink: str, case: Case, told: Audience) -> Recipient:
    return Recipient(sink, weight=weight_for(sink, case.stage, case.severity, told), follows=True)


def _is_about(route: Route, case: Case) -> bool:
    """Tell whether the rule is for messages of this stage of what this is about."""
    return (
        fnmatchcase(case.job, route.jobs)
        and fnmatchcase(case.pool, route.pools)
        and fnmatchcase(case.namespace, route.namespaces)
        and all(name in case.labels and fnmatchcase(case.labels[name], wanted) for name, wanted in route.labels.items())
        and (not route.stages or case.stage in route.stages)
    )


def _recipient(route: Route, case: Case, now: datetime, told: Audience) -> Recipient:
    urgent = case.severity is Severity.CRITICAL
    loud = weight_for(route.sink, case.stage, case.severity, told)
    return Recipient(
        route.sink,
        mention=route.mention,
        hold=held_until(route.quiet, loud, now),
        gather=timedelta(0) if urgent else route.gather,
        escalate=route.escalate,
        weight=loud,
        follows=leads_on(route.stages),
    )


def _together(first: Recipient, second: Recipient) -> Recipient:
    return Recipient(
        first.sink,
        mention=tuple(dict.fromkeys((*first.mention, *second.mention))),
        hold=min(first.hold, second.hold) if first.hold and second.hold else None,
        gather=min(first.gather, second.gather),
        escalate=first.escalate or second.escalate,
        weight=louder(first.weight, second.weight),
        follows=first.follows or second.follows,
    )
