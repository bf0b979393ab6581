"""Delivers to a vendor's robot: its parts in order, each signed anew, each answer judged by the vendor's table."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import httpx

from keepstep.adapters.channel_post import SHOWN, Reply, Request, post, refused
from keepstep.adapters.channel_replies import UNKNOWN, Fate, Row, row_of
from keepstep.adapters.channel_secret import Mask
from keepstep.adapters.channel_words import plain
from keepstep.contracts.taxonomy import ChannelKind
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Notice, Receipt

REMEMBERED = 256
"""Digests under way whose delivered parts are known: a try after a failed part does not repeat those before it."""

Payload = dict[str, object]
"""One message of the vendor, before it is signed."""


@dataclass(frozen=True)
class Judged:
    """An answer and what it means."""

    row: Row
    code: str
    text: str


def judged_by(kind: ChannelKind, reply: Reply, *, code: str = "errcode", text: str = "errmsg") -> Judged | None:
    """Return the row of the answer's code in the vendor's table, None where it has none."""
    said = reply.json()
    found = said.get(code)
    if not isinstance(found, int | str) or isinstance(found, bool):
        return None
    words = str(said.get(text, ""))
    return Judged(row_of(kind, str(found), words), str(found), words)


class Vendor(Protocol):
    """What one vendor wants."""

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the messages that say this notice, each within the vendor's limits."""

    def request(self, part: Payload, now: datetime) -> Request:
        """Return the request, signed for ``now``; raises Transient and Permanent where secrets cannot be read."""

    def judged(self, reply: Reply) -> Judged | None:
        """Return what the answer means, None where it is none of the vendor's: then its status counts."""


class RobotSink:
    """Port Sink over one vendor's robot."""

    def __init__(self, name: str, vendor: Vendor, client: httpx.AsyncClient, clock: Clock) -> None:
        """``name`` is the channel's."""
        self._name, self._vendor, self._client, self._clock = name, vendor, client, clock
        self._done: OrderedDict[str, int] = OrderedDict()

    async def deliver(self, notice: Notice) -> Receipt:
        """Send all parts that are not sent yet; errors and receipt carry the vendor's code."""
        parts = self._vendor.parts(notice)
        first = min(self._done.get(notice.id, 0), len(parts) - 1)
        receipt = Receipt("")
        for number in range(first, len(parts)):
            receipt = await self._sent(parts[number])
            self._note(notice.id, number + 1)
        self._done.pop(notice.id, None)
        return replace(receipt, calls=len(parts) - first)

    async def _sent(self, part: Payload) -> Receipt:
        judged = await self._answer(part)
        if judged.row.fate is Fate.RESIGN:
            judged = await self._answer(part)
        said = f"{self._name} answered {judged.code}{f' ({judged.text})' if judged.text else ''}"
        remedy = f": {judged.row.remedy}" if judged.row.remedy else ""
        match judged.row.fate:
            case Fate.SENT:
                return Receipt(judged.code, judged.text)
            case Fate.AGAIN:
                raise Transient(f"{said}{remedy}", retry_after=judged.row.pause, code=judged.code)
            case _:
                raise Permanent(f"{said}{remedy}", code=judged.code)

    async def _answer(self, part: Payload) -> Judged:
        request = self._vendor.request(part, self._clock.now())
        reply = await post(self._client, request)
        judged = self._vendor.judged(reply)
        if judged is not None:
            row = replace(judged.row, pause=max(judged.row.pause, reply.retry_after))
            text = " ".join(plain(judged.text).split())
            return Judged(row, judged.code, Mask((str(request.url), *request.secrets)).hide(text)[:SHOWN])
        if reply.status >= 300:
            raise refused(self._name, reply)
        return Judged(UNKNOWN, str(reply.status), "no answer of the vendor's: is something in between?")

    def _note(self, notice: str, parts: int) -> None:
        self._done[notice] = parts
        while len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
