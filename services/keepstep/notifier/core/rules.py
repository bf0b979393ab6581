"""Which rules match a message, and what they ask for together: one message for each sink, whatever rules name it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from keepstep.contracts.channel_parts import RANK
from keepstep.contracts.notification import Escalation, Route
from keepstep.contracts.taxonomy import AlertKind, Category, Severity, Stage
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


def recipients(routes: Iterable[Route], case: Case, now: datetime) -> tuple[Recipient, ...]:
    """Return who gets it, each sink once: called are all whom any rule calls, and it waits only if all rules wait."""
    found: dict[str, Recipient] = {}
    for route in routes:
        if matches(route, case):
            one = _recipient(route, case, now)
            found[route.sink] = _together(found[route.sink], one) if route.sink in found else one
    return tuple(found.values())


def matches(route: Route, case: Case) -> bool:
    """Tell whether the rule asks for it."""
    return (
        RANK[case.severity] >= RANK[route.minimum]
        and fnmatchcase(case.job, route.jobs)
        and fnmatchcase(case.pool, route.pools)
        and fnmatchcase(case.namespace, route.namespaces)
        and all(name in case.labels and fnmatchcase(case.labels[name], wanted) for name, wanted in route.labels.items())
        and (not route.categories or case.category in route.categories)
        and (not route.kinds or not set(route.kinds).isdisjoint(case.kinds))
        and (not route.stages or case.stage in route.stages)
    )


def _recipient(route: Route, case: Case, now: datetime) -> Recipient:
    urgent = case.severity is Severity.CRITICAL
    return Recipient(
        route.sink,
        mention=route.mention,
        hold=held_until(route.quiet, case.severity, now),
        gather=timedelta(0) if urgent else route.gather,
        escalate=route.escalate,
    )


def _together(first: Recipient, second: Recipient) -> Recipient:
    return Recipient(
        first.sink,
        mention=tuple(dict.fromkeys((*first.mention, *second.mention))),
        hold=min(first.hold, second.hold) if first.hold and second.hold else None,
        gather=min(first.gather, second.gather),
        escalate=first.escalate or second.escalate,
    )
