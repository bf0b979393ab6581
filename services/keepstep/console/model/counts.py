"""Counts over all that the stream holds: made anew at every start, so they are the same after it.

A fault is a cause: what one verdict takes together is one fault, however many ranks it brought down; an incident has
one for each attempt, since a second attempt is made for a second fault.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from keepstep.console.model.job import KeptJob
from keepstep.console.model.sums import Sums
from keepstep.console.views import Counted, FaultSource, IncidentRow
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId
from keepstep.contracts.message import Message

IDS_KEPT = 20_000
"""Messages that are known when they are read again, as after an outage; 3 MB."""


@dataclass
class Tally:
    """So many of each name, and when the last of it was."""

    counts: Counter[str] = field(default_factory=Counter)
    last: dict[str, datetime] = field(default_factory=dict)

    def add(self, name: str, at: datetime) -> None:
        """Count one."""
        self.counts[name] += 1
        self.last[name] = max(at, self.last.get(name, at))

    def move(self, before: str | None, name: str, at: datetime) -> None:
        """Count one under another name than before."""
        if before is not None:
            self.counts[before] -= 1
        self.add(name, at)

    def counted(self) -> tuple[Counted, ...]:
        """Return them, most first."""
        found = (Counted(name=name, count=count, last=self.last[name]) for name, count in self.counts.items() if count)
        return tuple(sorted(found, key=lambda one: (-one.count, one.name)))


class Counts:
    """Of faults, incidents and recoveries of the pool; those of a job stand with the job."""

    def __init__(self) -> None:
        self.faults = 0
        self.detections = 0
        self.last_fault: datetime | None = None
        self.sources, self.categories, self.levels, self.outcomes = Tally(), Tally(), Tally(), Tally()
        self.sums = Sums()
        self._attempts: OrderedDict[IncidentId, int] = OrderedDict()
        self._known: OrderedDict[EventId, None] = OrderedDict()

    def fresh(self, message: Message) -> bool:
        """Return whether the message was not heard before; who says a thing twice says it under the same id."""
        if message.id in self._known:
            return False
        self._known[message.id] = None
        if len(self._known) > IDS_KEPT:
            self._known.popitem(last=False)
        return True

    def knows(self, name: EventId) -> bool:
        """Return whether a message of this id was heard lately."""
        return name in self._known

    def hear(self, message: Message, job: KeptJob | None, source: FaultSource | None) -> None:
        """Take in one message; ``source`` is of the faults that it names, where they are known."""
        match message:
            case e.FaultDetected():
                self.detections += 1
            case e.IncidentOpened():
                self.sums.open()
                if job is not None:
                    job.sums.open()
                self._cause(message, 1, job, source)
            case e.FaultDiagnosed():
                self._cause(message, message.attempt, job, source)
            case e.RecoveryPlanned():
                self.levels.add(message.level, message.time)
            case _:
                return

    def _cause(self, message: Message, attempt: int, job: KeptJob | None, source: FaultSource | None) -> None:
        if message.incident is None or attempt <= self._attempts.get(message.incident, 0):
            return
        self._attempts[message.incident] = attempt
        while len(self._attempts) > IDS_KEPT:
            self._attempts.popitem(last=False)
        self.faults += 1
        self.last_fault = message.time
        self.sources.add(source or FaultSource.PROCESS, message.time)
        if job is not None:
            job.faults += 1
            job.last_fault = message.time

    def changed(self, before: IncidentRow | None, after: IncidentRow, at: datetime) -> None:
        """Take in how an incident's row changed."""
        old = None if before is None else before.category
        if after.category is not None and after.category != old:
            self.categories.move(old, after.category, at)

    def closed(self, message: e.IncidentClosed, job: KeptJob | None) -> None:
        """Take in the end of an incident, once."""
        self.outcomes.add(message.outcome, message.time)
        self.sums.close(message)
        if job is not None:
            job.sums.close(message)
