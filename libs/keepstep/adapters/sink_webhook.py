"""A generic webhook: the notice as JSON to an address whose secret never shows."""

from datetime import timedelta

import httpx
import orjson

from keepstep.adapters.channel_document import document
from keepstep.adapters.channel_guard import Allowed, GuardedTransport
from keepstep.adapters.channel_post import Request, post, quiet_client, refused
from keepstep.adapters.channel_secret import address as checked
from keepstep.core.masking import masked
from keepstep.ports.sink import Notice, Receipt

ANYWHERE = ("0.0.0.0/0", "::/0")


def webhook_client(*, limit: timedelta, allow: tuple[str, ...] | None = None) -> httpx.AsyncClient:
    """Return the client that webhooks share; ``allow`` is what of the site's own they may call.

    None is all of it but the metadata of clouds: a route may be any job's, and there are credentials.
    """
    return quiet_client(limit=limit, transport=GuardedTransport(Allowed(ANYWHERE if allow is None else allow)))


class WebhookSink:
    """Posts notices to one address; raises Permanent for one that is none."""

    def __init__(self, address: str, client: httpx.AsyncClient) -> None:
        self._address = checked(address, of="route")
        self._client = client

    async def deliver(self, notice: Notice) -> Receipt:
        """Post it; Transient for 408, 423, 425, 429, 5xx and a silent or absent server, else Permanent if refused."""
        headers = {"Idempotency-Key": notice.id, "Content-Type": "application/json"}
        request = Request(self._address, orjson.dumps(document(notice)), headers=headers)
        reply = await post(self._client, request)
        if not 200 <= reply.status < 300:
            raise refused(masked(str(self._address)), reply)
        return Receipt(str(reply.status))
