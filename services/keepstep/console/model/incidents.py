"""All incidents: each as a row at hand, and with all that is kept of it, which is packed once nobody touches it."""

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from keepstep.console.model.story import Story, told
from keepstep.console.model.story_view import row_of, view_of
from keepstep.console.model.turning import turned
from keepstep.console.views import IncidentListing, IncidentRow, IncidentView
from keepstep.contracts.events import FaultDetected
from keepstep.contracts.ids import EventId, IncidentId, TaskUid
from keepstep.contracts.message import Message
from keepstep.core.awaiting import Awaited, Ground, awaited

KEPT = 10_000
"""A month of a fleet of thousands of nodes; a row and a packed story are 4 KiB."""
UNPACKED = 256
"""Stories that were told of last: whatever is open in an ordinary pool."""
LOOKED_AT = 64
"""Oldest incidents among which a closed one is looked for: a flood of open ones must not cost a look at all."""


class Incidents:
    """The incidents in the order in which they were heard of first."""

    def __init__(self, kept: int = KEPT, unpacked: int = UNPACKED) -> None:
        self._kept, self._unpacked = kept, unpacked
        self._rows: OrderedDict[IncidentId, IncidentRow] = OrderedDict()
        self._stories: OrderedDict[IncidentId, Story] = OrderedDict()
        self._packed: dict[IncidentId, bytes] = {}
        self.open: dict[IncidentId, None] = {}
        """In the order in which they were opened."""

    def __len__(self) -> int:
        return len(self._rows)

    def hear(
        self, message: Message, faults: Mapping[EventId, FaultDetected], tasks: Mapping[TaskUid, str]
    ) -> tuple[IncidentRow | None, IncidentRow] | None:
        """Take in one message; return the row before it and after it, None where it changed nothing."""
        name = message.incident
        if name is None:
            return None
        story = self._story(name)
        changed = told(story, message, faults, tasks)
        if changed is None or changed is story:
            return None
        before, after = self._rows.get(name), row_of(changed)
        self._rows[name] = after
        self._touch(name, changed)
        if after.outcome is None:
            self.open.setdefault(name)
        else:
            self.open.pop(name, None)
        self._forget()
        return before, after

    def _story(self, name: IncidentId) -> Story | None:
        found = self._stories.get(name)
        if found is None and (packed := self._packed.get(name)) is not None:
            return Story.model_validate_json(zlib.decompress(packed))
        return found

    def _touch(self, name: IncidentId, story: Story) -> None:
        self._packed.pop(name, None)
        self._stories[name] = story
        self._stories.move_to_end(name)
        while len(self._stories) > self._unpacked:
            old, left = self._stories.popitem(last=False)
            self._packed[old] = zlib.compress(left.model_dump_json().encode(), level=1)

    def _forget(self) -> None:
        """Drop the oldest that is closed, or where the oldest are all open the first of them."""
        while len(self._rows) > self._kept:
            first = list(islice(self._rows.values(), LOOKED_AT))
            oldest = next((row.incident for row in first if row.outcome is not None), first[0].incident)
            del self._rows[oldest]
            self._stories.pop(oldest, None)
            self._packed.pop(oldest, None)
            self.open.pop(oldest, None)

    def row(self, name: IncidentId) -> IncidentRow | None:
        """Return the row of an incident."""
        return self._rows.get(name)

    def named(self, digits: str) -> tuple[IncidentId, ...]:
        """Return the incidents whose id is, or begins with, these digits; two are enough to know that it is not one."""
        if IncidentId(digits) in self._rows:
            return (IncidentId(digits),)
        return tuple(islice((name for name in self._rows if digits and name.startswith(digits)), 2))

    def view(self, name: IncidentId, ground: Ground) -> IncidentView | None:
        """Return one incident with all that is kept of it; ``ground`` says how long it may wait."""
        story = self._story(name)
        return None if story is None else view_of(story, ground)

    def waits(self, name: IncidentId, ground: Ground) -> Awaited | None:
        """Return what an incident waits for; None for one that is closed or not known."""
        story = self._story(name)
        return None if story is None else awaited(story.timeline, ground)

    def newest(self) -> Iterator[IncidentRow]:
        """Yield the rows, newest first."""
        return reversed(self._rows.values())

    def listing(self, test: Callable[[IncidentRow], bool], *, after: IncidentId | None, limit: int) -> IncidentListing:
        """Return the rows that pass the test, newest first, from behind ``after`` on; ``total`` counts all of them."""
        found = [row for row in self.newest() if test(row)]
        shown, more = turned(found, lambda row: row.incident, after=after, limit=limit)
        return IncidentListing(items=tuple(shown), total=len(found), next=more)
