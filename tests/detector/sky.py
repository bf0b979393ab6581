"""The watch over a world, driven tick by tick, and the heartbeats that it hears."""

from collections.abc import Callable
from datetime import timedelta

from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.telemetry import Heartbeat
from keepstep.detector.core.watch import Watch
from tests.detector.facts import POOL, START, World, at_step, beat, ranks_of

EVERY = 0.5


class Sky:
    """The watch over a world, driven tick by tick; what it says goes straight to the world's folds."""

    def __init__(self, world: World, *, deaf: bool = False) -> None:
        self.world = world
        self.now = 0.0
        self.deaf = deaf
        self.watch = Watch(POOL, self.now, every=EVERY, policy=DetectionPolicy())

    def run(self, until: float, beats: Callable[[float], list[Heartbeat]]) -> list[Message]:
        """Advance in half seconds; hear the beats of every whole second; return what the watch said."""
        said: list[Message] = []
        while self.now < until:
            self.now += EVERY
            if self.now % 1.0 == 0:
                for heartbeat in beats(self.now):
                    self.watch.hear(heartbeat, self.now)
            said.extend(self.tick())
        return said

    def tick(self) -> tuple[Message, ...]:
        """Look once."""
        at = START + timedelta(seconds=self.now)
        says = self.watch.tick(self.world.folds, self.now, at)
        if not self.deaf:
            self.world.now = at
            self.world.hear(*says)
        return says


def nobody(_now: float) -> list[Heartbeat]:
    return []


def both(now: float) -> list[Heartbeat]:
    return [beat(0, now), beat(1, now)]


def frozen(index: int) -> Callable[[float], list[Heartbeat]]:
    """Only one task is heard, and its ranks do not step."""
    return lambda now: [beat(index, now, [at_step(rank, 30) for rank in ranks_of(index)])]


def kinds(said: list[Message]) -> list[type[Message]]:
    return [type(message) for message in said]
