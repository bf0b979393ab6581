"""A console over a pool in memory: what a test tells is folded and shown, what a person orders is kept and answered.

The bus stands between a console and its services; here it is a list, so that a page is asked in milliseconds.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from types import SimpleNamespace
from typing import cast

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from keepstep.console.access import LOCAL, User
from keepstep.console.api import application
from keepstep.console.audit import Audit
from keepstep.console.board import Board
from keepstep.console.context import Console
from keepstep.console.desk import Desk
from keepstep.console.ground import Ground, OwnNodes
from keepstep.console.hub import Hub
from keepstep.console.limits import Limiter
from keepstep.console.live import Live
from keepstep.console.model.pool import PoolModel
from keepstep.console.settings import ConsoleSettings
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.runtime.client import Client
from tests.console.said import POOL, now

OWN_NODES = OwnNodes()
Answers = Callable[[Message], Iterable[Message]]


def silent(_order: Message) -> Iterable[Message]:
    """Answer nothing."""
    return ()


class Bus:
    """What a desk and a live model ask of a client."""

    def __init__(self, take: Callable[[Message], None]) -> None:
        self.pool = Pool(POOL)
        self.link = SimpleNamespace(connected=True)
        self._take = take

    async def say(self, message: Message) -> None:
        """Take an order."""
        self._take(message)


class Site:
    """The pool, its console, and the orders that were given."""

    def __init__(
        self, answers: Answers = silent, clock: Callable[[], datetime] = now, ground: Ground = OWN_NODES
    ) -> None:
        self.model, self.hub = PoolModel(Pool(POOL)), Hub(80)
        self.ordered: list[Message] = []
        self.clock = clock
        self._answers, self._cursor = answers, 0
        self._app: FastAPI | None = None
        bus = cast("Client", Bus(self._take))
        board = Board(self.model)
        live = Live(bus, self.model, self.hub, now=clock)
        live.caught_up = True
        self.console = Console(
            settings=ConsoleSettings(nats_url=SecretStr("nats://nowhere"), pool=Pool(POOL)), board=board, live=live,
            hub=self.hub, desk=Desk(bus, board, clock, ground), limiter=Limiter(10_000),
            audit=Audit(Pool(POOL), clock), codes={}, now=clock,
        )  # fmt: skip

    def _take(self, message: Message) -> None:
        self.ordered.append(message)
        self.tell(message, *self._answers(message))

    def tell(self, *messages: Message) -> None:
        """Let the pool say something; pages that are open hear of it."""
        for message in messages:
            self._cursor += 1
            if (event := self.model.hear(message, self._cursor)) is not None:
                self.hub.tell(event)

    def app(self, user: User = LOCAL) -> FastAPI:
        """Return the application, built once, with who asks."""
        self._app = self._app or application(self.console)
        self._app.state.local_user = user
        return self._app

    @asynccontextmanager
    async def asked(self, user: User = LOCAL) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a browser without scripts."""
        transport = httpx.ASGITransport(app=self.app(user), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700") as found:
            yield found
