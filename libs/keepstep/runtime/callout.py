"""The bus's side of the gate: the server asks whom to let in (auth callout); rights or a refusal is the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from nats.aio.client import Client as NatsConnection
from nats.aio.msg import Msg
from nats.errors import Error
from pydantic import ConfigDict, Field, ValidationError

from keepstep.adapters.claims import claims_of
from keepstep.contracts.model import Frozen
from keepstep.runtime.log import logger
from keepstep.runtime.metrics import LET_IN, TURNED_AWAY, Metrics
from keepstep.runtime.nkeys import KeyPair, Role, is_public
from keepstep.runtime.rights import Rights
from keepstep.runtime.rights_of_pods import CALLOUT, EDGE, GATE
from keepstep.runtime.tasks import end
from keepstep.runtime.user_tokens import answer_token, user_token

AT_ONCE = 64
"""Knocks that are looked at together: each waits for two answers of an API server, which throttles beyond some."""
WAITING = 20_000
"""Knocks that wait; further ones are dropped, their askers knock again. Ten thousand agents may come at once."""
STALE_S = 4.0
"""A knock that waited longer is left: its client has given up by then, and its server soon does."""
TOLD = 100
"""Letters of a name that anybody may send, in a line of the log."""


class _Part(Frozen):
    model_config = ConfigDict(hide_input_in_errors=True)


class _Server(_Part):
    id: str


class _Login(_Part):
    user: str = ""
    password: str = Field(default="", alias="pass", repr=False)


class _Where(_Part):
    host: str = ""


class _Request(_Part):
    server_id: _Server
    user_nkey: str
    connect_opts: _Login
    client_info: _Where = _Where()


@dataclass(frozen=True)
class Knock:
    """Somebody whom the bus does not know by a password: who he says he is, and by what he would prove it."""

    user: str
    proof: str = field(repr=False)
    host: str = ""


@dataclass(frozen=True)
class Grant:
    """Let in with these rights until then; the server cuts the connection at that time."""

    rights: Rights
    until: datetime


@dataclass(frozen=True)
class Turned:
    """Not let in; the reason goes to the logs of server and gate, and the asker knocks again."""

    because: str


Judge = Callable[[Knock], Awaitable[Grant | Turned]]


class Callout:
    """Hears the questions of all servers of the bus; of several gates each question reaches one."""

    def __init__(
        self,
        connection: NatsConnection,
        key: KeyPair,
        judge: Judge,
        *,
        now: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self._connection, self._key, self._judge, self._now = connection, key, judge, now
        self._knocks, self._log = metrics.knocks, logger(GATE)
        for outcome in (LET_IN, TURNED_AWAY):
            self._knocks.labels(outcome)
        self._waiting: asyncio.Queue[tuple[float, Msg]] = asyncio.Queue(WAITING)

    async def serve(self) -> None:
        """Answer until cancelled; outages of the bus end nothing."""
        subscription = await self._connection.subscribe(CALLOUT, queue=GATE, cb=self._heard)
        workers = [asyncio.create_task(self._work()) for _ in range(AT_ONCE)]
        try:
            await asyncio.gather(*workers)
        finally:
            await end(workers)
            if not self._connection.is_closed:
                await subscription.unsubscribe()

    async def _heard(self, message: Msg) -> None:
        if self._waiting.full():
            self._log.warning("knock dropped", because=f"{WAITING} wait")
            return
        self._waiting.put_nowait((asyncio.get_running_loop().time(), message))

    async def _work(self) -> None:
        while True:
            came, message = await self._waiting.get()
            if asyncio.get_running_loop().time() - came > STALE_S:
                continue
            try:
                await self._answer(message)
            except Error as error:
                self._log.warning("knock unanswered", because=str(error))

    async def _answer(self, message: Msg) -> None:
        asked = _read(message.data)
        if asked is None:
            self._log.warning("question left out", because="it is none that a server of the bus asks")
            return
        knock = Knock(asked.connect_opts.user, asked.connect_opts.password, asked.client_info.host)
        decided = await self._judged(knock)
        self._knocks.labels(LET_IN if isinstance(decided, Grant) else TURNED_AWAY).inc()
        now, server = self._now(), asked.server_id.id
        if isinstance(decided, Grant):
            token = user_token(self._key, asked.user_nkey, decided.rights, account=EDGE, now=now, until=decided.until)
            answer = answer_token(self._key, asked.user_nkey, server=server, now=now, token=token)
            self._log.info("let in", user=knock.user[:TOLD], host=knock.host, until=decided.until.isoformat())
        else:
            answer = answer_token(self._key, asked.user_nkey, server=server, now=now, refusal=decided.because)
            self._log.info("turned away", user=knock.user[:TOLD], host=knock.host, because=decided.because)
        await message.respond(answer.encode())

    async def _judged(self, knock: Knock) -> Grant | Turned:
        """Return the judgement; one that fails lets nobody in and holds up nobody else."""
        try:
            return await self._judge(knock)
        except Exception:
            self._log.exception("knock not judged", user=knock.user[:TOLD])
            return Turned("the gate failed; its log says why")


def _read(data: bytes) -> _Request | None:
    """Return a server's question, None for what is none.

    Its signature would prove nothing, as any server's key signs it; that nobody else may publish where it comes does.
    """
    try:
        asked = _Request.model_validate(claims_of(data.decode()).get("nats"))
    except (ValueError, ValidationError):
        return None
    keys = is_public(asked.user_nkey, Role.USER) and is_public(asked.server_id.id, Role.SERVER)
    return asked if keys else None
