"""Messages that no retry can help: kept with their reason, to be listed, replayed or dropped by a person."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from keepstep.adapters.nats_errors import translated
from keepstep.contracts.ids import Pool, derive
from keepstep.ports.errors import Permanent
from keepstep.runtime import names
from keepstep.runtime.tail import Reading, Stored, read
from keepstep.runtime.weight import weight

_SERVICE = "keepstep-service"
_REASON = "keepstep-reason"
_SUBJECT = "keepstep-subject"
_SEQUENCE = "keepstep-sequence"
_INCIDENT = "keepstep-incident"
_WHOLE = "keepstep-whole-bytes"
_KEPT = ("content-type", "ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time")
REASON_LENGTH = 500


@dataclass(frozen=True)
class DeadLetter:
    """One message that one service could not take, and why; ``number`` names it to ``keepstep deadletter``."""

    number: int
    time: datetime
    service: str
    reason: str
    subject: str
    sequence: int
    incident: str | None
    headers: dict[str, str]
    body: bytes


class DeadLetters:
    """A pool's dead letters. Every method raises Transient while the bus is away."""

    def __init__(self, js: JetStreamContext, pool: Pool, *, most: Callable[[], int]) -> None:
        """Use this connection; ``most`` returns how many bytes a message may have on it, headers included."""
        self._js = js
        self._pool = pool
        self._most = most
        self._stream = names.deadletter_stream(pool)

    async def bury(self, service: str, stored: Stored, *, reason: str, incident: str | None) -> None:
        """Keep the message with its reason; doing it again for the same service and sequence changes nothing.

        Of a message that leaves no room for the reason only the beginning is kept.
        """
        headers = {name: value for name, value in stored.headers.items() if name in _KEPT} | {
            _SERVICE: service,
            _REASON: " ".join(reason.split())[:REASON_LENGTH],
            _SUBJECT: stored.subject,
            _SEQUENCE: str(stored.sequence),
            "Nats-Msg-Id": derive("deadletter", service, stored.place, stored.time.isoformat()),
        }
        if incident is not None:
            headers[_INCIDENT] = incident
        body, room = stored.body, self._most()
        if weight(headers, body) > room:
            headers[_WHOLE] = str(len(body))
            body = body[: room - weight(headers, b"")]
        with translated(f"burying {stored.subject}"):
            await self._js.publish(names.deadletter_subject(self._pool, service), body, headers=headers)

    async def list(self) -> tuple[DeadLetter, ...]:
        """Return all of them, oldest first."""
        reading = Reading(stream=self._stream, subject=names.deadletter_subject(self._pool, "*"))
        return tuple([_letter(stored) async for stored in read(self._js, reading)])

    async def count(self) -> int:
        """Return how many there are."""
        with translated("counting dead letters"):
            return (await self._js.stream_info(self._stream)).state.messages

    async def replay(self, number: int) -> None:
        """Put the original message into the stream again and drop the letter. Raises Permanent if that is not there."""
        letter = await self._get(number)
        if _WHOLE in letter.headers:
            share = f"{len(letter.body)} of {letter.headers[_WHOLE]} bytes"
            raise Permanent(f"of dead letter {number} only {share} are kept: it can be dropped alone")
        kept = {name: value for name, value in letter.headers.items() if name in _KEPT}
        again = {"Nats-Msg-Id": derive("replay", self._stream, number)}
        with translated(f"replaying dead letter {number}"):
            await self._js.publish(letter.subject, letter.body, headers=kept | again)
        await self.drop(number)

    async def drop(self, number: int) -> None:
        """Forget the letter. Raises Permanent if there is none."""
        await self._get(number)
        with translated(f"dropping dead letter {number}"):
            await self._js.delete_msg(self._stream, number)

    async def _get(self, number: int) -> DeadLetter:
        with translated(f"reading dead letter {number}"):
            try:
                found = await self._js.get_msg(self._stream, number)
            except NotFoundError as error:
                raise Permanent(f"there is no dead letter {number}; see keepstep deadletter list") from error
        time = found.time
        assert time is not None, "the server stamps what it stores"  # noqa: S101 - narrows a type
        headers = dict(found.headers or {})
        return _letter(Stored(number, time, found.subject or "", headers, found.data or b""))


def _letter(stored: Stored) -> DeadLetter:
    return DeadLetter(
        number=stored.sequence,
        time=stored.time,
        service=stored.headers.get(_SERVICE, ""),
        reason=stored.headers.get(_REASON, ""),
        subject=stored.headers.get(_SUBJECT, ""),
        sequence=int(stored.headers.get(_SEQUENCE, "0")),
        incident=stored.headers.get(_INCIDENT),
        headers=stored.headers,
        body=stored.body,
    )
