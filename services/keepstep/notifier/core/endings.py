"""Who was told of a thread is told how it ends, however loud the end is by itself.

Of each thread it is remembered which sinks were told of it, and the loudest thing each was told; an end weighs as much.
What ends an isolation or a blind detector weighs what those always do: days or another fold lie between them.
"""

from collections.abc import Iterable, Mapping

from keepstep.contracts.channel_parts import RANK
from keepstep.contracts.ids import derive
from keepstep.contracts.taxonomy import Severity, Stage

Audience = Mapping[str, Severity]
"""Sinks, by a hash since an address is a secret, with the loudest thing that each was told of one thread."""
UNTOLD: Audience = {}
ENDS = frozenset(
    {
        Stage.ACKNOWLEDGED,
        Stage.RESUMED,
        Stage.CLOSED,
        Stage.FAILED,
        Stage.RELEASED,
        Stage.SIGHTED,
        Stage.RUNNING,
        Stage.SUCCEEDED,
        Stage.STOPPED,
    }
)
"""Stages after which nobody has to wait for more, or somebody else looks after it."""
STANDING: Mapping[Stage, Severity] = {Stage.RELEASED: Severity.WARNING, Stage.SIGHTED: Severity.CRITICAL}
"""What weighs as much as what it ends, whoever was told of that."""


def louder(first: Severity, second: Severity) -> Severity:
    """Return the more urgent of the two."""
    return second if RANK[second] > RANK[first] else first


def weight(stage: Stage, severity: Severity) -> Severity:
    """Return how loud a message is to rules, before it is known who was told of its thread."""
    return louder(severity, STANDING.get(stage, severity))


def weight_for(sink: str, stage: Stage, severity: Severity, told: Audience) -> Severity:
    """Return how loud a message is to one sink, of whose thread ``told`` were told."""
    own = weight(stage, severity)
    return louder(own, told.get(mark(sink), own)) if stage in ENDS else own


def leads_on(stages: Iterable[Stage]) -> bool:
    """Tell whether who takes these stages (none: all) wants an end; who picks others takes one message of a thread."""
    picked = frozenset(stages)
    return not picked or not picked.isdisjoint(ENDS)


def is_last(stage: Stage, *, incident: bool) -> bool:
    """Tell whether nothing of the thread has an end any more after this; an incident goes on until it is closed."""
    return stage is Stage.CLOSED if incident else stage in ENDS


def told_to(audience: Audience, sinks: Iterable[str], severity: Severity) -> dict[str, Severity]:
    """Return the audience after these sinks were told something."""
    marks = [mark(sink) for sink in sinks]
    return {**audience, **{one: louder(audience.get(one, severity), severity) for one in marks}}


def mark(sink: str) -> str:
    """Return what tells a sink from others and is no way to it."""
    return derive("address", sink)
