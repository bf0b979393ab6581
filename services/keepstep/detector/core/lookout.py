"""What is new in what objects of the cluster show of nodes: each trouble is said once, and once that it is over.

What ended while no detector looked is found at the first sight of an object: the folds know what is still called wrong.
An object that cannot be read shows nothing new: what it showed last holds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from keepstep.contracts.events import DeviceEvidence, NodeEvidence, ReportRead
from keepstep.contracts.ids import EventId, NodeName, Pool, derive
from keepstep.detector.core.follow import DEVICE
from keepstep.detector.core.observe import what_of
from keepstep.detector.core.state import Fold, JobFold, NodeFold
from keepstep.ports.troubles import Shown, Trouble

Found = Mapping[tuple[str, str], Trouble]
"""By what is wrong and how bad it is."""


NOTHING: Found = {}
"""One for all of the 10,000 nodes that show nothing."""


@dataclass(frozen=True)
class News:
    """What is to be said, and why an object is not read, once."""

    reports: tuple[ReportRead, ...] = ()
    refused: str = ""


class Lookout:
    """The troubles that were shown last, by object; one for each time the service is active."""

    def __init__(self, pool: Pool, called: Mapping[NodeName, frozenset[str]]) -> None:
        """``called``: what the folds call wrong at the start."""
        self._pool, self._called = pool, called
        self._found: dict[str, Found] = {}
        self._refused: dict[str, str] = {}

    @property
    def objects(self) -> int:
        """How many objects are remembered: those that are there, and no more."""
        return len(self._found)

    def see(self, shown: Shown, now: datetime) -> News:
        """Return what is new in an object; ends come before beginnings, so that a worse level is a new fault."""
        if shown.refused:
            new = self._refused.get(shown.place) != shown.refused
            self._refused[shown.place] = shown.refused
            return News(refused=shown.refused if new else "")
        self._refused.pop(shown.place, None)
        known = self._found.get(shown.place)
        found = {(what_of(_evidence(one)), one.level): one for one in shown.troubles} or NOTHING
        self._found[shown.place] = found
        if shown.gone:
            del self._found[shown.place]
        over = tuple(self._missed(shown, found)) if known is None else _without(known, found)
        ended = (self._said(shown, one, now, active=False) for one in over)
        began = (self._said(shown, one, now, active=True) for one in _without(found, known or NOTHING))
        return News((*ended, *began))

    def _missed(self, shown: Shown, found: Found) -> Iterator[Trouble]:
        """Yield what ended while nobody looked: it is called wrong, and its object shows it no more."""
        there = {what for what, _ in found}
        for what in sorted(self._called.get(shown.node, frozenset()) - there):
            if what.startswith(shown.speaks_of):
                yield _named(what)

    def _said(self, shown: Shown, trouble: Trouble, now: datetime, *, active: bool) -> ReportRead:
        """Return the report; its id is the same whenever the same beginning or end is found."""
        evidence = _evidence(trouble)
        when = (active and trouble.since) or shown.version
        name = derive("read", shown.node, what_of(evidence), trouble.level, when, str(active))
        return ReportRead(
            id=EventId(name),
            time=now,
            pool=self._pool,
            node=shown.node,
            source=shown.source,
            evidence=evidence,
            active=active,
        )


def _evidence(trouble: Trouble) -> DeviceEvidence | NodeEvidence:
    if trouble.device is not None:
        return DeviceEvidence(device=trouble.device, code=trouble.code, text=trouble.text)
    return NodeEvidence(condition=trouble.code, text=trouble.text)


def _named(what: str) -> Trouble:
    """Return the trouble that ``what_of`` gave this name."""
    kind, _, rest = what.partition(" ")
    device, _, code = rest.partition(" ")
    return Trouble(code, device) if kind == "device" and code else Trouble(what)


def _without(these: Found, those: Found) -> tuple[Trouble, ...]:
    return tuple(one for key, one in these.items() if key not in those)


def called_wrong(folds: Mapping[str, Fold]) -> dict[NodeName, frozenset[str]]:
    """Return what is called wrong now of each node, for itself or for a job that runs there."""
    called: dict[NodeName, frozenset[str]] = {}
    for node, what in _open(folds):
        called[node] = called.get(node, frozenset()) | {what}
    return called


def _open(folds: Mapping[str, Fold]) -> Iterator[tuple[NodeName, str]]:
    for fold in folds.values():
        match fold.of:
            case JobFold():
                for key in fold.of.open:
                    node, _, what = key.removeprefix(DEVICE).partition("/")
                    if key.startswith(DEVICE) and what:
                        yield NodeName(node), what
            case NodeFold():
                yield from ((fold.of.node, what) for what in fold.of.open)
