"""A crash at every step of writing, saying and acknowledging, twice: the same fold, every word once."""

from dataclasses import dataclass, field

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.ids import Pool, consequence_id
from keepstep.contracts.message import Message, cloud_headers
from keepstep.contracts.subjects import subject_of
from keepstep.ports.store import Store, Versioned
from keepstep.runtime import log
from keepstep.runtime.app import Context
from keepstep.runtime.folds import Folds
from keepstep.runtime.lanes import Lanes, Ways
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.tail import Stored
from tests.runtime.conftest import BRISK
from tests.runtime.stages import NOON, Count, Probe, report, until

POOL = Pool("cut")
NAMES = ("a", "b", "c", "d", "e")


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


async def live(world: World, probe: Probe, *, fence: int) -> Count | None:
    """Be one instance from its start to its crash, or until everything is acknowledged; return the fold.

    Each instance gets more at once than the one before, so that what was decided and what is new meet in one run.
    """
    world.crashed = False
    failures: list[Exception] = []
    folds = Folds(world, Count, fence=fence, stream="s")
    await folds.load()
    lanes = Lanes(
        probe.app().stage(Context(POOL, SystemClock(), None, None, world.say, lambda: folds.states, None)),  # type: ignore[arg-type]  # a probe asks for its folds and say alone
        folds,
        Ways(say=world.say, bury=never_bury, minded=lambda *_: None, ended=failures.append),
        pace=BRISK,
        clock=SystemClock(),
        metrics=Metrics(),
        log=log.logger("test"),
    )
    waiting, size = sorted(world.unanswered), 1 + fence
    while waiting and not world.crashed:
        portion, waiting = waiting[:size], waiting[size:]
        for sequence in portion:
            await lanes.take(world.unanswered[sequence], Slip(world, sequence))
        await until(lambda portion=portion: world.crashed or not world.unanswered.keys() & set(portion))  # type: ignore[misc]  # mypy infers no type for a lambda with a default
    lanes.close()
    assert failures == []
    fold = folds.get("job-1")
    return None if fold is None else fold.state


async def outcome(*crashes: int) -> tuple[World, Count | None]:
    """Return the world after the messages were taken by as many instances as it takes."""
    world, probe = World(list(crashes)), Probe()
    for sequence, name in enumerate(NAMES, 1):
        message = report(POOL, name)
        body = message.model_dump_json().encode()
        world.unanswered[sequence] = Stored(sequence, NOON, subject_of(message), cloud_headers(message), body)
    fence, state = 0, None
    while world.unanswered:
        fence += 1
        state = await live(world, probe, fence=fence)
    return world, state


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_no_crash_loses_or_repeats_anything() -> None:
    calm, state = await outcome()
    assert calm.said == [consequence_id("FaultCleared", name) for name in NAMES]  # type: ignore[arg-type]  # a name stands for the id of its message
    assert state == Count(seen=NAMES)
    assert calm.steps == 26, "3 writes, 5 words and 5 acknowledgements have 26 sides to crash at"
    for first in range(1, calm.steps + 1):
        for second in range(1, calm.steps - first + 3, 3):
            stormy, state = await outcome(first, second)
            assert (stormy.said, state) == (calm.said, Count(seen=NAMES)), (first, second)
