"""Whether hardware is kept away from jobs: one answer per verdict, and what becomes of what is isolated."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.message import POOL_KEY, Message
from keepstep.core.decision import Deadline, Decision
from keepstep.isolator.core import asks, outcomes
from keepstep.isolator.core.acts import Empty, Fence, Free, Tend
from keepstep.isolator.core.hear import hear
from keepstep.isolator.core.state import EXPIRY, Isolations, Way

ROOMS = (asks, outcomes)
"""Importing them registers their functions with ``hear``."""
HEARS: tuple[type[Message], ...] = tuple(kind for kind in hear.registry if kind not in (object, Message))
"""Exactly the messages that a function is registered for."""


def fold_key(_message: Message) -> str:
    """Return the one fold of the pool."""
    return POOL_KEY


def decide(fold: Isolations | None, message: Message, now: datetime) -> Decision[Isolations]:
    """Return the next fold of the pool and what is to be said; the same message again changes nothing."""
    return hear(message, fold or Isolations(), now)


def deadlines(fold: Isolations) -> Iterable[Deadline]:
    """Return when isolations that are held expire."""
    for isolation in fold.isolations.values():
        if isolation.way is Way.HELD and isolation.until is not None:
            yield Deadline(what=f"{EXPIRY}{isolation.place}", due=isolation.until)


def effects(fold: Isolations) -> Iterable[Fence | Tend | Empty | Free]:
    """Return what is to be done: what was asked, per node in the order of asking, and the care of isolated nodes.

    A node that is asked for is not tended meanwhile, and a paused pool releases and moves nothing by itself.
    """
    waiting = fold.waiting
    yield from (Fence(request) for request in fold.requests if waiting.isdisjoint(request.behind))
    yield from (Free(release) for release in fold.releases if waiting.isdisjoint(release.behind))
    asked = {request.node for request in fold.requests} | {release.node for release in fold.releases}
    if "" in fold.paused:
        return
    for one in fold.isolations.values():
        if one.node not in asked:
            yield Tend(one)
            if one.drain is not None:
                yield Empty(one, one.drain)
