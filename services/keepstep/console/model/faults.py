"""Every fault of the pool, whatever found it, joined to the jobs and ranks that it hurts.

What is reported again is the same fault, counted: a report, what the detector makes of it and its end are one line.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from keepstep.console.model.places import Places
from keepstep.console.model.reports import NODES_OWN, Key, Report, lost_node, of_fault, report_of
from keepstep.console.model.turning import turned
from keepstep.console.views import FaultListing, FaultSource, FaultView, HurtJob
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category

ACTIVE_KEPT = 10_000
PAST_KEPT = 5_000
IDS_KEPT = 8
"""Messages by which one fault is found again; the newest."""
ONCE_KEPT = 256
JOBS_KEPT = 64
"""Jobs that one fault is shown to hurt."""


@dataclass
class Kept:
    """One fault."""

    id: EventId
    report: Report
    first: datetime
    last: datetime
    count: int = 1
    ended: datetime | None = None
    incident: IncidentId | None = None
    hurt: dict[JobUid, HurtJob] = field(default_factory=dict)
    ids: list[EventId] = field(default_factory=list)

    def view(self) -> FaultView:
        """Return it as it is shown."""
        report = self.report
        return FaultView(
            id=self.id, source=report.source, subject=report.subject, code=report.code, text=report.text,
            node=report.node, device=report.device, first=self.first, last=self.last, count=self.count,
            active=self.ended is None, ended=self.ended, reporter=report.reporter, incident=self.incident,
            hurt=tuple(self.hurt.values()),
        )  # fmt: skip


class Faults:
    """The faults that are active, and the newest of those that are over."""

    def __init__(self, places: Places, active: int = ACTIVE_KEPT, past: int = PAST_KEPT) -> None:
        self._places = places
        self._most_active, self._most_past = active, past
        self._active: OrderedDict[Key, Kept] = OrderedDict()
        self._past: OrderedDict[EventId, Kept] = OrderedDict()
        self._by_id: dict[EventId, Kept] = {}
        self._of_incident: defaultdict[IncidentId, dict[EventId, Kept]] = defaultdict(dict)
        """Active faults that an incident has taken in: of thousands that close in a flood none looks at all others."""
        self._once: OrderedDict[Key, Kept] = OrderedDict()
        """Faults that were over as soon as they were reported: the detector's word of them comes later."""

    def hear(self, message: Message) -> None:
        """Take in one message."""
        match message:
            case e.FaultDetected():
                self._found(of_fault(message, self._places), message, since=message.occurred)
            case e.FaultCleared():
                self._end(message.cause, message.time)
            case e.IncidentOpened():
                self._join((message.fault,), message.incident, None)
            case e.FaultDiagnosed():
                self._join(message.faults, message.incident, message.verdict.category)
            case e.IncidentClosed() if message.incident is not None:
                self._end_of(message.incident, message.time)
            case e.JobSucceeded() | e.JobFailed() | e.JobDeleted() if message.job is not None:
                job = message.job.uid
                self._end_where(lambda one: job in one.hurt and not _stays(one), message.time)
            case e.NodeReleased() if message.node is not None:
                self._end_where(lambda one: one.report.node == message.node and _is_released(one), message.time)
            case e.DeviceReleased():
                self._end_where(lambda one: _is_device(one, message), message.time)
            case e.ReportPlaced() if message.job is not None:
                self._hurts(message)
            case _:
                self._reported(message)

    def _reported(self, message: Message) -> None:
        report = report_of(message)
        if report is None:
            return
        if report.over:
            if (known := self._active.get(report.key)) is not None:
                self._finish(report.key, known, message.time)
            return
        self._found(report, message, since=message.time)
        if report.once and (known := self._active.get(report.key)) is not None:
            self._finish(report.key, known, message.time)
            self._once[report.key] = known
            while len(self._once) > ONCE_KEPT:
                self._once.popitem(last=False)

    def _found(self, report: Report, message: Message, *, since: datetime) -> None:
        known = self._active.get(report.key)
        if known is None and not report.reporting:
            known = self._once.get(report.key)
        if known is not None and message.id in known.ids:
            return
        if known is None:
            known = Kept(id=message.id, report=report, first=since, last=message.time)
            self._active[report.key] = known
            self._bound()
        elif report.reporting or not known.report.reporting:
            known.count += 1
            known.last = message.time
        self._name(known, message.id)
        hurt = report.hurt or self._places.hurt(report.node, report.device)
        for one in hurt:
            self._add(known, one)

    def look(self, lost: Collection[NodeName], now: datetime) -> None:
        """Take in which nodes the cluster does not have ready now, with tasks or without."""
        for node in lost:
            report = lost_node(node)
            if report.key not in self._active:
                name = EventId(derive("look", node, now.isoformat()))
                hurt = {one.job.uid: one for one in self._places.hurt(node)}
                self._active[report.key] = kept = Kept(id=name, report=report, first=now, last=now, hurt=hurt)
                self._name(kept, name)
        self._end_where(lambda one: one.report.looked and one.report.node not in lost, now)
        self._bound()

    def _name(self, kept: Kept, name: EventId) -> None:
        kept.ids.append(name)
        self._by_id[name] = kept
        if len(kept.ids) > IDS_KEPT:
            self._by_id.pop(kept.ids.pop(0), None)

    def _add(self, kept: Kept, hurt: HurtJob) -> None:
        known = kept.hurt.get(hurt.job.uid)
        if known is None and len(kept.hurt) >= JOBS_KEPT:
            return
        ranks = hurt.ranks if known is None else tuple(sorted({*known.ranks, *hurt.ranks}))
        kept.hurt[hurt.job.uid] = HurtJob(job=hurt.job, ranks=ranks)

    def _hurts(self, message: e.ReportPlaced) -> None:
        kept = self._by_id.get(message.cause) if message.cause is not None else None
        if kept is not None and message.job is not None and message.active:
            self._add(kept, self._places.hurt_of(message.job, message.node, kept.report.device))

    def _join(self, names: tuple[EventId, ...], incident: IncidentId | None, category: Category | None) -> None:
        for name in names:
            if (kept := self._by_id.get(name)) is None:
                continue
            if incident is not None:
                self._leave(kept)
                kept.incident = incident
                if kept.ended is None:
                    self._of_incident[incident][kept.id] = kept
            if category is Category.NETWORK and kept.report.source in NODES_OWN | {FaultSource.PROCESS}:
                kept.report = kept.report.of(FaultSource.NETWORK)

    def source_of(self, names: tuple[EventId, ...]) -> FaultSource | None:
        """Return what the first of these faults that is known was found on."""
        return next((kept.report.source for name in names if (kept := self._by_id.get(name)) is not None), None)

    def _end(self, name: EventId | None, at: datetime) -> None:
        kept = None if name is None else self._by_id.get(name)
        if kept is not None and kept.ended is None:
            self._finish(kept.report.key, kept, at)

    def _end_where(self, test: Callable[[Kept], bool], at: datetime) -> None:
        for key, kept in [(key, kept) for key, kept in self._active.items() if test(kept)]:
            self._finish(key, kept, at)

    def _end_of(self, incident: IncidentId, at: datetime) -> None:
        for kept in tuple(self._of_incident.get(incident, {}).values()):
            if not _stays(kept):
                self._finish(kept.report.key, kept, at)

    def _leave(self, kept: Kept) -> None:
        if kept.incident is not None and (those := self._of_incident.get(kept.incident)) is not None:
            those.pop(kept.id, None)
            if not those:
                del self._of_incident[kept.incident]

    def _finish(self, key: Key, kept: Kept, at: datetime) -> None:
        self._active.pop(key, None)
        self._leave(kept)
        kept.ended = at
        self._past[kept.id] = kept
        self._past.move_to_end(kept.id)
        self._bound()

    def _bound(self) -> None:
        while len(self._active) > self._most_active:
            self._drop(self._active.popitem(last=False)[1])
        while len(self._past) > self._most_past:
            self._drop(self._past.popitem(last=False)[1])

    def _drop(self, kept: Kept) -> None:
        self._leave(kept)
        for name in kept.ids:
            if self._by_id.get(name) is kept:
                del self._by_id[name]

    @property
    def active(self) -> int:
        """How many are active."""
        return len(self._active)

    def of(self, *, node: NodeName | None = None, job: JobUid | None = None, active: bool | None = None) -> list[Kept]:
        """Return faults (of a node, that hurt a job, that are active or not), newest first."""
        return [
            kept
            for kept in self._newest(active)
            if (node is None or kept.report.node == node) and (job is None or job in kept.hurt)
        ]

    def _newest(self, active: bool | None) -> Iterator[Kept]:
        if active is not False:
            yield from reversed(self._active.values())
        if active is not True:
            yield from reversed(self._past.values())

    def listing(
        self, test: Callable[[Kept], bool], *, active: bool | None, after: EventId | None, limit: int
    ) -> FaultListing:
        """Return the faults that pass the test, newest first, from behind ``after`` on; ``total`` counts all."""
        found = sorted((kept for kept in self._newest(active) if test(kept)), key=lambda kept: kept.last, reverse=True)
        shown, more = turned(found, lambda kept: kept.id, after=after, limit=limit)
        return FaultListing(items=tuple(kept.view() for kept in shown), total=len(found), next=more)


def _stays(kept: Kept) -> bool:
    """Return whether the fault lasts beyond an incident: it is of hardware, which is only moved out of the way."""
    return kept.report.lasting


def _is_released(kept: Kept) -> bool:
    """Return whether the fault is over with its node's isolation; what the cluster shows is as long as it shows it."""
    return _stays(kept) and not kept.report.looked


def _is_device(kept: Kept, message: e.DeviceReleased) -> bool:
    return kept.report.node == message.node and kept.report.device == message.device
