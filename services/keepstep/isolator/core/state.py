"""What is remembered of a pool's isolations: who asked for which node, what is out and how it comes back."""

from datetime import timedelta
from enum import StrEnum

from pydantic import AwareDatetime, Field

from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import IsolationPolicy
from keepstep.contracts.taxonomy import Category

ANSWERED = 512
"""Verdicts and orders remembered as answered: a pool has a handful of open incidents at a time."""
EXPIRY = "expiry/"
"""What a deadline waits for, with the node's name after it."""
RECENT = 256
"""Isolations remembered for the storm hold, above any sensible ``storm_count``."""


class Asker(StrEnum):
    """Who wants a node isolated; guards hold rules back, not people."""

    RULE = "rule"
    PERSON = "person"


class Way(StrEnum):
    """How an isolated node comes back."""

    HELD = "held"
    """A person releases it, or its expiry turns it to ``returning``."""
    RETURNING = "returning"
    """Released by itself once it was ready for ``release_after``."""


class Job(Frozen):
    """What matters here of a job: its size and its isolation policy."""

    nodes: int
    policy: IsolationPolicy


class Cause(Frozen):
    """What several incidents may come from, while verdicts still name it."""

    group: str
    last: AwareDatetime
    incidents: tuple[IncidentId, ...] = ()


class Shared(Frozen):
    """The group of an incident: how many incidents are in it so far, this one among them, and of what cause."""

    group: str
    incidents: int
    cause: str


class Request(Frozen):
    """Somebody wants a node isolated; it waits for exactly one answer."""

    origin: Message
    """The verdict's or order's envelope: its id is the answer's cause."""
    node: NodeName
    device: str | None = None
    """What of the node is to blame, if that is known: it alone is isolated where its node can do without it."""
    asker: Asker
    by: str
    reason: str
    category: Category = Category.UNKNOWN
    way: Way = Way.HELD
    attempt: int = 0
    policy: IsolationPolicy = IsolationPolicy()
    shared: Shared | None = None
    behind: tuple[EventId, ...] = ()
    """Releases of this node that were asked for earlier and are done first."""
    revised: str = ""
    """A later verdict blames somebody else, in this sentence: release as soon as isolated."""


class Drain(Frozen):
    """What else runs on the node is to leave it."""

    until: AwareDatetime
    force: bool


class Isolation(Frozen):
    """A node that keepstep cordoned, or a device that it withholds."""

    origin: Message
    """The envelope of NodeIsolated or DeviceIsolated."""
    node: NodeName
    device: str | None = None
    asker: Asker
    by: str
    reason: str
    category: Category
    way: Way
    since: AwareDatetime
    until: AwareDatetime | None
    attempt: int
    release_after: timedelta
    group: str | None = None
    ready_since: AwareDatetime | None = None
    """Since when every look found it ready, while it is ``returning``."""
    turns: int = 0
    """How often it was seen to turn ready or not ready."""
    drain: Drain | None = None
    """None once what else ran there is gone, or stays for a reason that was said."""

    @property
    def place(self) -> str:
        """What is isolated: a node and each of its devices can be at the same time."""
        return place_of(self.node, self.device)


class Release(Frozen):
    """A node, or one device of it, is to be let free at once."""

    origin: Message
    node: NodeName
    device: str | None = None
    whole: bool = False
    """With all devices of it that are withheld: what a person who releases a node means."""
    because: str
    isolated: bool = True
    """keepstep isolated it, as far as is known: a node that left the cluster can be released all the same."""
    behind: tuple[EventId, ...] = ()
    """Requests for this node that were made earlier and are answered first."""


def place_of(node: NodeName, device: str | None) -> str:
    """Return the node's name, with the device's after it where only that is meant."""
    return node if device is None else f"{node}/{device}"


class Blindness(Frozen):
    """The detector doubts itself, not the nodes that fell silent."""

    since: AwareDatetime
    because: str


class Isolations(Frozen):
    """The fold of the pool."""

    jobs: dict[JobUid, Job] = Field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    isolations: dict[str, Isolation] = Field(default_factory=dict)
    """By ``place``."""
    releases: tuple[Release, ...] = ()
    recent: tuple[AwareDatetime, ...] = ()
    """When rules isolated nodes, oldest first."""
    answered: tuple[EventId, ...] = ()
    paused: dict[str, str] = Field(default_factory=dict)
    """Job uid, or "" for the pool, to the person who paused it."""
    blind: Blindness | None = None
    causes: dict[str, Cause] = Field(default_factory=dict)
    """In words, to the group of incidents that share it; newest last."""

    def knows(self, ask: EventId) -> bool:
        """Tell whether this verdict or order was answered or waits for its answer."""
        if ask in self.answered or any(ask == one.origin.id for one in self.requests):
            return True
        return any(ask == one.origin.id for one in self.releases)

    def with_request(self, request: Request) -> "Isolations":
        """Return the fold with one request more, behind the releases of its node that wait."""
        behind = tuple(one.origin.id for one in self.releases if one.node == request.node)
        added = request.model_copy(update={"behind": behind})
        return self.model_copy(update={"requests": (*self.requests, added)})

    def with_release(self, release: Release) -> "Isolations":
        """Return the fold with one release more, behind the requests for its node that wait."""
        behind = tuple(one.origin.id for one in self.requests if one.node == release.node)
        added = release.model_copy(update={"behind": behind})
        return self.model_copy(update={"releases": (*self.releases, added)})

    @property
    def waiting(self) -> frozenset[EventId]:
        """Verdicts and orders that wait for their answer."""
        return frozenset({one.origin.id for one in self.requests} | {one.origin.id for one in self.releases})

    def with_answered(self, ask: EventId | None) -> "Isolations":
        """Return the fold with the request or release of ``ask`` done."""
        if ask is None or ask in self.answered:
            return self
        return self.model_copy(
            update={
                "requests": tuple(one for one in self.requests if one.origin.id != ask),
                "releases": tuple(one for one in self.releases if one.origin.id != ask),
                "answered": (*self.answered, ask)[-ANSWERED:],
            }
        )
