"""A stream, a store and receipts without a bus, and the lanes of one stage on them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message, cloud_headers
from keepstep.contracts.subjects import subject_of
from keepstep.ports.clock import Clock
from keepstep.ports.store import Store, Versioned
from keepstep.runtime import log
from keepstep.runtime.app import Context
from keepstep.runtime.folds import Folds
from keepstep.runtime.lanes import Lanes
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.tail import Stored
from keepstep.runtime.ways import Ways
from tests.runtime.conftest import BRISK
from tests.runtime.stages import NOON, Count, Probe

POOL = Pool("cut")


class Crash(BaseException):
    """The process is gone at this point; nothing catches it."""


@dataclass
class World:
    """What outlives a crash: the stream, who acknowledged what, the store; and at which steps to crash."""

    crashes: list[int]
    steps: int = 0
    crashed: bool = False
    said: list[str] = field(default_factory=list)
    unanswered: dict[int, Stored] = field(default_factory=dict)
    store: Store = field(default_factory=MemoryStore)

    def put(self, sequence: int, message: Message) -> Stored:
        """Have the stream hold a message that nobody acknowledged yet; returns it as the stream has it."""
        body = message.model_dump_json().encode()
        self.unanswered[sequence] = Stored(sequence, NOON, subject_of(message), cloud_headers(message), body)
        return self.unanswered[sequence]

    def step(self) -> None:
        self.steps += 1
        if self.crashes and self.steps >= self.crashes[0]:
            self.crashes.pop(0)
            self.steps = 0
            self.crashed = True
            raise Crash

    async def say(self, message: Message) -> None:
        self.step()
        if message.id not in self.said:
            self.said.append(message.id)
        self.step()

    async def load(self, key: str) -> Versioned | None:
        return await self.store.load(key)

    async def keys(self, prefix: str = "") -> tuple[str, ...]:
        return await self.store.keys(prefix)

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        await self.store.delete(key, revision=revision)

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        self.step()
        written = await self.store.save(key, value, revision=revision)
        self.step()
        return written


@dataclass
class Slip:
    """A receipt of the world."""

    world: World
    sequence: int

    async def ack(self) -> None:
        self.world.step()
        self.world.unanswered.pop(self.sequence, None)
        self.world.step()

    async def nak(self, delay: float | None = None) -> None:
        raise AssertionError(f"nothing is refused here, after {delay}")

    async def term(self) -> None:
        raise AssertionError("nothing is buried here")


async def never_bury(stored: Stored, reason: str) -> None:
    raise AssertionError(stored, reason)


def lanes_of(
    world: World,
    probe: Probe,
    folds: Folds[Count],
    clock: Clock,
    *,
    ended: Callable[[Exception], None] = lambda _: None,
    **changes: Any,
) -> Lanes[Count]:
    """Return the lanes of the probe's stage in this world, changed in some of its fields."""
    stage = probe.app().stage(Context(POOL, clock, None, None, world.say, lambda: folds.states, None))  # type: ignore[arg-type]  # a probe asks for its folds and say alone
    return Lanes(
        replace(stage, **changes),
        folds,
        Ways(say=world.say, bury=never_bury, minded=lambda *_: None, ended=ended),
        pace=BRISK,
        clock=clock,
        metrics=Metrics(),
        log=log.logger("test"),
    )
