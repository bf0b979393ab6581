"""Six services on one stream, each of which can be struck at any of its steps towards the outside."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from tests.pipeline.life import Life
from tests.pipeline.outside import Outside


@dataclass
class World(Outside):
    """The outside with six services in it."""

    zombies: list[asyncio.Task[None]] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self, *, agents_go_on: bool = False) -> AsyncIterator[None]:
        """Run all six services, each started again when it ends; afterwards the agents may go on without them."""
        with mock.patch("keepstep.runtime.rebuild.read", self._read):
            seats = [asyncio.create_task(self._seat(service)) for service in Service]
            try:
                yield
            finally:
                agents = [work for agent in self.cluster.agents.values() for work in agent.work]
                for task in (*seats, *self.zombies, *(() if agents_go_on else agents)):
                    task.cancel()
                ended = await asyncio.gather(*seats, *self.zombies, return_exceptions=True)
        for result in ended:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        assert self.cluster.failures == []

    async def until(self, condition: Callable[[], bool], *, within: float = 120) -> None:
        """Return once the condition holds; fails when simulated time is over or an agent found something wrong."""
        async with asyncio.timeout(within):
            while not condition():
                assert self.cluster.failures == []
                await self.stream.changed.changed()

    def said(self, kind: type[Message]) -> list[Any]:
        """Return the messages of a type, each id once."""
        return list({message.id: message for message in self.stream.said if type(message) is kind}.values())

    def _read(self, _js: object, reading: Any, *, last: int | None = None) -> Any:
        return self.stream.read(reading, last=last)

    async def _seat(self, service: Service) -> None:
        while True:
            life = Life(self, service)
            await life.run()
            if life.zombie is not None:
                self.zombies.append(life.zombie)
            await asyncio.sleep(life.down_s)
