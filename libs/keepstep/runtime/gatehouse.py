"""Where a gate stands: its connection to the bus, what it answers to probes, and the bindings it looks up."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from nats.aio.client import Client as NatsConnection
from pydantic import SecretStr

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Permanent
from keepstep.runtime.bindings import NatsBindings
from keepstep.runtime.callout import Callout, Judge
from keepstep.runtime.client import REQUEST_S
from keepstep.runtime.connection import Link, connect
from keepstep.runtime.http import Answer, serving
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.nkeys import KeyPair
from keepstep.runtime.rights_of_pods import GATE
from keepstep.runtime.settings import Settings


class Gatehouse:
    """A connected gate; ``key`` signs what it grants."""

    def __init__(self, connection: NatsConnection, link: Link, key: KeyPair, metrics: Metrics) -> None:
        self._connection, self._link, self._key, self._metrics = connection, link, key, metrics
        self._js = connection.jetstream(timeout=REQUEST_S)

    def bindings(self, pool: Pool) -> NatsBindings:
        """Return what tells which task each pod of a pool is."""
        return NatsBindings(self._js, self._link, pool)

    async def serve(self, judge: Judge, *, now: Callable[[], datetime]) -> None:
        """Answer whatever the bus asks, until cancelled."""
        await Callout(self._connection, self._key, judge, now=now, metrics=self._metrics).serve()


@asynccontextmanager
async def gatehouse(settings: Settings, seed: SecretStr) -> AsyncIterator[Gatehouse]:
    """Connect, however long that takes, and answer probes while the block runs.

    Raises Permanent for a seed that is none, or an address or port that cannot be used.
    """
    try:
        key = KeyPair.read(seed.get_secret_value())
    except ValueError as error:
        raise Permanent(str(error)) from error
    metrics, link = Metrics(), Link()

    def answers(path: str) -> Answer:
        match path:
            case "/healthz":
                return Answer("200 OK", "text/plain", b"ok\n")
            case "/readyz":
                told = (b"connected\n", "200 OK") if link.connected else (b"cut off\n", "503 Service Unavailable")
                return Answer(told[1], "text/plain", told[0])
            case "/metrics":
                return Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics.text())
            case _:
                return Answer("404 Not Found", "text/plain", b"try /healthz, /readyz or /metrics\n")

    async with serving(settings.http_host, settings.http_port, answers):
        connection, _ = await connect(settings.nats_url.get_secret_value(), name=GATE, link=link)
        try:
            yield Gatehouse(connection, link, key, metrics)
        finally:
            if not connection.is_closed:
                await connection.close()
