"""A burst of lost nodes and what the stack made of it: when each job's verdict was answered, and its incidents."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from keepstep.contracts.events import IncidentOpened, IsolationDeclined, NodeIsolated
from keepstep.contracts.ids import JobUid, NodeName

from .stack import Loss, Stack

SILENT = "unreachable"
"""How nodes are lost whose kubelets fell silent, and of which nobody knows more."""


@dataclass(frozen=True)
class Answer:
    """The first answer to a job's verdict, and how many seconds after the burst the stream had it."""

    node: NodeName | None
    after_s: float
    isolated: bool
    because: str


@dataclass
class Burst:
    """What followed from a loss."""

    loss: Loss
    hit: frozenset[JobUid]
    """The jobs that had tasks there."""
    answers: dict[JobUid, Answer] = field(default_factory=dict)
    incidents: Counter[JobUid] = field(default_factory=Counter)

    @property
    def missing(self) -> int:
        """How many of these jobs have no decision yet."""
        return len(self.hit - self.answers.keys())

    @property
    def unopened(self) -> int:
        """How many of these jobs have no incident."""
        return len(self.hit - self.incidents.keys())

    @property
    def surplus(self) -> int:
        """How many incidents there are beside one for each of these jobs."""
        return self.incidents.total() - len(self.hit & self.incidents.keys())

    @property
    def amiss(self) -> tuple[str, ...]:
        """What is not as it should be: of each job that was hit one incident and one decision, of others none.

        A node that only fell silent takes no task: its agents may still be heard. Then nothing at all is to be said.
        """
        if self.loss.how == SILENT:
            said = {"incidents": self.incidents.total(), "decisions": len(self.answers)}
        else:
            said = {
                "jobs hit without an incident": self.unopened,
                "incidents too many": self.surplus,
                "jobs hit without a decision": self.missing,
            }
        return tuple(f"{count} {what}" for what, count in said.items() if count)

    @property
    def isolated(self) -> int:
        """How many nodes were taken out."""
        return sum(answer.isolated for answer in self.answers.values())

    @property
    def last_s(self) -> float:
        """When the last decision fell."""
        return max((answer.after_s for answer in self.answers.values()), default=0.0)

    @property
    def first_s(self) -> float:
        """When the first decision fell."""
        return min((answer.after_s for answer in self.answers.values()), default=0.0)


async def lose(stack: Stack, count: int, how: str, *, within_s: float, calm_s: float) -> Burst:
    """Lose so many nodes at once and return what became of it, ``calm_s`` after all was decided or time was up."""
    heard = len(stack.said)
    loss = await stack.cluster.lose(count, how)
    burst = Burst(loss, frozenset(_hit(stack, set(loss.nodes))))
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while how == SILENT or burst.missing:
                await stack.heard(since=heard)
                heard = _take_in(burst, stack, heard)
    await asyncio.sleep(calm_s)
    _take_in(burst, stack, heard)
    return burst


def _hit(stack: Stack, nodes: set[str]) -> Iterator[JobUid]:
    for job in stack.jobs:
        if any(place.node in nodes for place in job.places):
            yield job.ref.uid


def _take_in(burst: Burst, stack: Stack, heard: int) -> int:
    """Take in what was said after so many messages, each once: this process shares the machine that it measures."""
    news = stack.said[heard:]
    for at, message in news:
        if message.job is None:
            continue
        match message:
            case IncidentOpened():
                burst.incidents[message.job.uid] += 1
            case NodeIsolated() | IsolationDeclined():
                answer = Answer(message.node, at - burst.loss.at, isinstance(message, NodeIsolated), message.because)
                burst.answers.setdefault(message.job.uid, answer)
            case _:
                pass
    return heard + len(news)
