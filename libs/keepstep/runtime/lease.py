"""Who is active: one instance per service and pool, by a key that expires unless it is renewed.

The bucket's revision at take-over is the fencing number: it only grows, and every write of the holder carries it.
What cannot carry it, a write to a cluster, is made only while the lease is ``held``: by the holder's own clock, which
counts from before each renewal was sent, it cannot have run out.
"""

import asyncio
import secrets

from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError

from keepstep.adapters.nats_errors import translated
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Conflict, Fenced, Transient
from keepstep.runtime import names
from keepstep.runtime.keeper import Pulse
from keepstep.runtime.pace import Pace
from keepstep.runtime.tasks import within

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
DEAD_TTLS = 2
"""A claim that was not renewed for so many of its lives is nobody's, also one without a time to live: what was written
into the bucket by hand would hold the lease for ever."""


class Lease:
    """One instance's claim on being the active one of its service."""

    def __init__(
        self, js: JetStreamContext, pool: Pool, service: Service, *, instance: str, pace: Pace, clock: Clock
    ) -> None:
        self._js = js
        self._bucket = names.leases_bucket(pool)
        self._service = service
        self._value = f"{instance} {secrets.token_hex(8)}".encode()
        self._pace = pace
        self._clock = clock
        self._revision = 0
        self._renewed = 0.0
        self._over = False

    @property
    def held(self) -> bool:
        """Whether nobody else can have the lease now; may be asked from any thread."""
        return not self._over and self._clock.monotonic() - self._renewed < self._pace.lease_ttl_s

    async def acquire(self) -> int:
        """Return the fencing number once this instance holds the lease, however long another one does."""
        seen: tuple[int, float] | None = None
        while True:
            try:
                held, revision = await self._look()
                now = self._clock.monotonic()
                if seen is None or seen[0] != revision:
                    seen = (revision, now)
                if held is None or now - seen[1] > DEAD_TTLS * self._pace.lease_ttl_s:
                    self._renewed = now
                    self._revision = await self._write(revision)
                    return self._revision
            except Transient:
                seen = None  # its holder may have been cut off as well
            await asyncio.sleep(self._pace.standby_look_s)

    async def keep(self, pulse: Pulse | None = None) -> None:
        """Renew until that fails: raises Fenced if another instance took over or the lease ran out unrenewed.

        ``pulse`` is that of the loop which works under the lease: of one that hangs the lease is let go.
        """
        while True:
            await asyncio.sleep(self._pace.renew_s)
            if self._over:
                return
            if pulse is not None and self._clock.monotonic() - pulse.ask() > self._pace.stuck_s:
                raise Fenced(f"{self._service} made no turn for {self._pace.stuck_s:.0f} s: its lease is let go")
            try:
                await within(self._renew(), self._pace.lease_ttl_s)
            except (Transient, TimeoutError) as error:
                if not self.held:
                    raise Fenced(f"the lease of {self._service} ran out while the bus was away") from error

    def drop(self) -> None:
        """Hold and renew it no more; a cancellation alone may be forgotten (see ``tasks.end``)."""
        self._over = True

    async def release(self) -> None:
        """Give the lease up, so that a standby takes over at once; if the bus is away it expires by itself."""
        try:
            with translated("releasing the lease"):
                bucket = await self._js.key_value(self._bucket)
                await bucket.delete(self._service, last=self._revision)
        except Transient:
            return

    async def _renew(self) -> None:
        started = self._clock.monotonic()
        try:
            self._revision = await self._write(self._revision)
        except Conflict as error:
            held, revision = await self._look()
            if held != self._value:
                raise Fenced(f"another instance holds the lease of {self._service}") from error
            self._revision = revision
        self._renewed = started

    async def _look(self) -> tuple[bytes | None, int]:
        """Return the holder and the key's revision.

        An entry without value is an expired or deleted one that the client does not call so (nats-py 2.16).
        """
        with translated("looking at the lease"):
            bucket = await self._js.key_value(self._bucket)
            try:
                found = await bucket.get(self._service)
            except KeyNotFoundError as gone:
                return None, (gone.entry.revision or 0) if gone.entry else 0
        return found.value or None, found.revision or 0

    async def _write(self, last: int) -> int:
        """Write the claim with its time to live if the key is still at ``last``; the client's update takes no TTL."""
        subject = f"$KV.{self._bucket}.{self._service}"
        with translated("writing the lease"):
            ack = await self._js.publish(
                subject, self._value, headers={_EXPECTED: str(last)}, msg_ttl=self._pace.lease_ttl_s
            )
        return ack.seq
