"""A stage for the tests: it counts the node reports of a key and says one event per ten, or what it is told."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from keepstep.contracts.events import DeadlinePassed, FaultCleared, NodeReported
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobRef
from keepstep.core.decision import Deadline, Decision, Effect
from keepstep.runtime.app import App, Context
from keepstep.runtime.stage import Stage

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Ring(Frozen):
    """An effect: ring once for this id."""

    name: str

    @property
    def id(self) -> str:
        return self.name


class Count(Frozen):
    """The fold: ids in the order they were applied."""

    seen: tuple[str, ...] = ()
    due: datetime | None = None
    ring: str | None = None
    passed: tuple[str, ...] = ()


@dataclass
class Probe:
    """What the tests look at, and how they make the stage misbehave."""

    every: int = 1
    hears: tuple[type[Message], ...] = (NodeReported,)
    raises: dict[str, list[Exception]] = field(default_factory=dict)
    decided: list[str] = field(default_factory=list)
    rung: list[str] = field(default_factory=list)
    ring_raises: list[Exception] = field(default_factory=list)
    ring_says: list[Message] = field(default_factory=list)
    context: Context[Count] | None = None
    background: tuple[Callable[[Context[Count]], Awaitable[None]], ...] = ()

    @property
    def states(self) -> dict[str, Count]:
        """Return the folds of the latest activation."""
        return {} if self.context is None else dict(self.context.folds())

    def app(self, service: Service = Service.DIAGNOSER) -> App[Count]:
        def stage(context: Context[Count]) -> Stage[Count]:
            self.context = context
            return Stage(
                service=service,
                hears=self.hears,
                state=Count,
                fold_key=lambda message: message.key,
                decide=self.decide,
                deadlines=lambda count: [] if count.due is None else [Deadline(what="bell", due=count.due)],
                effects=lambda count: [] if count.ring is None else [Ring(name=count.ring)],
                act=self.act,
            )

        return App(service=service, stage=stage, background=self.background)

    def decide(self, count: Count | None, message: Message, now: datetime) -> Decision[Count]:
        count = count or Count()
        if isinstance(message, DeadlinePassed):
            return Decision(count.model_copy(update={"due": None, "passed": (*count.passed, message.what)}))
        assert isinstance(message, NodeReported)
        self.decided.append(message.id)
        if self.raises.get(message.id):
            raise self.raises[message.id].pop(0)
        if message.id in count.seen:
            return Decision(count)
        seen = (*count.seen, message.id)
        update: dict[str, object] = {"seen": seen}
        match message.condition:
            case "due":
                update["due"] = now + timedelta(seconds=float(message.text))
            case "ring":
                update["ring"] = message.text or None
            case _:
                pass
        says: tuple[Message, ...] = (cleared(message, len(seen), now),) if len(seen) % self.every == 0 else ()
        if message.condition == "nameless":
            says = tuple(said.model_copy(update={"job": None, "node": ""}) for said in says)
        return Decision(count.model_copy(update=update), says, f"{len(seen)} seen")

    async def act(self, effect: Effect) -> Iterable[Message]:
        if self.ring_raises:
            raise self.ring_raises.pop(0)
        self.rung.append(effect.id)
        return self.ring_says


def cleared(message: Message, number: int, now: datetime) -> FaultCleared:
    """Return what the stage says after the ``number``th report of a key."""
    name = consequence_id("FaultCleared", message.id)
    return FaultCleared(**envelope(message, time=now), id=name, because=f"number {number}")


def report(pool: Pool, name: str, *, job: str = "job-1", condition: str = "fine", text: str = "") -> NodeReported:
    """Return a report that the stage counts under the job's uid."""
    return NodeReported(
        id=EventId(name),
        time=NOON,
        pool=pool,
        node=NodeName("n1"),
        job=JobRef(name=job, uid=JobUid(job)),
        condition=condition,
        text=text,
    )


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within: float = 10.0) -> None:
    """Return once the condition holds; fails the test if that takes longer than ``within`` seconds."""
    async with asyncio.timeout(within):
        while True:
            holds = condition()
            if holds if isinstance(holds, bool) else await holds:
                return
            await asyncio.sleep(0.005)
