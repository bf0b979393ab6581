"""A pool's isolator that runs to rest without a bus."""

import asyncio
from datetime import timedelta
from typing import TypeVar

from keepstep.contracts.events import DeadlinePassed, IsolationDeclined, NodeIsolated, NodeReleased, ReleaseDeclined
from keepstep.contracts.ids import EventId
from keepstep.contracts.message import POOL_KEY, Message
from keepstep.contracts.taxonomy import Service
from keepstep.isolator.app import isolator_stage
from keepstep.isolator.core import Empty, Isolations, Tend
from keepstep.isolator.hand import Hand
from keepstep.ports.cluster import NodeStatus
from keepstep.ports.errors import Transient
from tests.isolator.doubles import Clock, Fleet, Others
from tests.isolator.words import POOL

NO_PAUSE = timedelta(0)
Answer = NodeIsolated | IsolationDeclined
F = TypeVar("F", bound=Fleet)


class PoolOfNodes:
    """The isolator's stage on a fleet in memory: hears, acts, and hears what it said."""

    def __init__(self, *nodes: NodeStatus, tick: float = 0, others: "Others | None" = None) -> None:
        self.clock = Clock(tick)
        self.others = others
        self.put(Fleet(*nodes))
        self.fold = Isolations()
        self.said: list[Message] = []

    def put(self, fleet: F) -> F:
        """Act on this fleet from now on."""
        self.fleet: Fleet = fleet
        hand = Hand(fleet, self.clock, tend_every=timedelta(0), devices=fleet, evictions=self.others)
        self.stage = isolator_stage(hand)
        return fleet

    def tell(self, *messages: Message) -> "PoolOfNodes":
        """Hear these in order, and at once what follows from them."""
        for message in messages:
            assert isinstance(message, self.stage.hears)
            assert self.stage.fold_key(message) == POOL_KEY
            decision = self.stage.decide(self.fold, message, message.time)
            self.fold = Isolations.model_validate_json(decision.state.model_dump_json())
            self.say(*decision.says)
        return self

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.said.append(message)
            if isinstance(message, self.stage.hears):
                self.tell(message)

    async def act(self) -> "PoolOfNodes":
        """Answer all requests and releases, all at once, until none is left."""
        while effects := [one for one in self.stage.effects(self.fold) if not isinstance(one, Tend | Empty)]:
            for said in await asyncio.gather(*(self.stage.act(one) for one in effects)):
                self.say(*said)
        return self

    async def empty(self) -> "PoolOfNodes":
        """Move away what else runs on isolated nodes, until that is done or given up."""
        for effect in [one for one in self.stage.effects(self.fold) if isinstance(one, Empty)]:
            self.say(*await self.stage.act(effect))
        return self

    async def watch(self, *, looks: int = 100) -> "PoolOfNodes":
        """Tend all isolated nodes until their isolation is over or the cluster cannot be reached any more."""
        self.fleet.looks = looks
        while watched := [self.stage.act(one) for one in self.stage.effects(self.fold) if isinstance(one, Tend)]:
            answered = await asyncio.gather(*watched, return_exceptions=True)
            for said in answered:
                if isinstance(said, BaseException):
                    assert isinstance(said, Transient)
                else:
                    self.say(*said)
            if all(isinstance(said, BaseException) for said in answered):
                break
        self.fleet.looks = 1000
        return self

    def passed(self) -> DeadlinePassed:
        """Return the passing of the one deadline that the fold waits for."""
        (deadline,) = self.stage.deadlines(self.fold)
        return DeadlinePassed(
            id=EventId(f"passed-{deadline.what}"),
            time=deadline.due,
            pool=POOL,
            service=Service.ISOLATOR,
            scope=POOL_KEY,
            what=deadline.what,
            due=deadline.due,
        )

    @property
    def answers(self) -> list[Answer]:
        return [one for one in self.said if isinstance(one, NodeIsolated | IsolationDeclined)]

    @property
    def last(self) -> tuple[str, str]:
        """The kind of the last thing said, and its reason."""
        said = self.said[-1]
        assert isinstance(said, NodeIsolated | IsolationDeclined | NodeReleased | ReleaseDeclined)
        return type(said).__name__, said.because
