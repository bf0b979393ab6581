"""Putting what nobody can take among the dead letters, and telling people that it lies there."""

import asyncio
from collections.abc import Awaitable, Callable

from structlog.typing import FilteringBoundLogger

from keepstep.contracts.events import DELIVERIES, MAX_LINE_LENGTH, DeadLettered
from keepstep.contracts.ids import EventId, IncidentId, derive
from keepstep.contracts.message import Message, cloud_headers
from keepstep.contracts.taxonomy import Service
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Transient
from keepstep.runtime.client import Client
from keepstep.runtime.intake import incident_of, name_of, named_in, subject_of
from keepstep.runtime.pace import Pace
from keepstep.runtime.tail import Stored


class Burial:
    """The dead letters of one service."""

    def __init__(
        self,
        service: Service,
        client: Client,
        say: Callable[[Message], Awaitable[None]],
        *,
        clock: Clock,
        pace: Pace,
        log: FilteringBoundLogger,
    ) -> None:
        self._service, self._client, self._say = service, client, say
        self._clock, self._pace, self._log = clock, pace, log

    async def bury_message(self, message: Message, reason: str) -> None:
        """Bury a message that this service gives up, whether or not it ever was in the stream, and say so."""
        subject = subject_of(message) or f"keepstep.{self._client.pool}.{type(message).__name__}.-.-"
        body = message.model_dump_json().encode()
        await self.bury(Stored(0, message.time, subject, cloud_headers(message), body), reason)

    async def bury(self, stored: Stored, reason: str) -> None:
        """Bury one message, however long that takes, and say so."""
        incident = incident_of(stored.body)
        while True:
            try:
                await self._client.dead_letters.bury(self._service, stored, reason=reason, incident=incident)
            except Transient as error:
                self._log.warning("not buried yet", because=str(error))
                await asyncio.sleep(self._pace.first_retry_s)
            else:
                break
        about = name_of(stored.subject)
        if about != DeadLettered.__name__:  # a letter about a letter would have letters without end
            await self._say(self._told(stored, about, reason))

    def _told(self, stored: Stored, about: str, reason: str) -> DeadLettered:
        incident = incident_of(stored.body)
        return DeadLettered(
            id=EventId(derive("dead-lettered", self._service, stored.place, stored.time.isoformat())),
            time=self._clock.now(),
            pool=self._client.pool,
            incident=IncidentId(incident) if incident else None,
            service=self._service,
            about=about,
            channel=(named_in(stored.body, "channel") or "") if about in DELIVERIES else "",
            address=(named_in(stored.body, "address") or "") if about in DELIVERIES else "",
            because=reason[:MAX_LINE_LENGTH],
        )
