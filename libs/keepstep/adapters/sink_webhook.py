"""A generic webhook: the notice as JSON to an address whose secret never shows."""

import logging
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from keepstep.adapters.channel_document import document
from keepstep.core.masking import masked
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Notice

PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.LOCKED})
"""Refusals that a later try may not meet; so are all of the 500s."""


def webhook_client(*, limit: timedelta) -> httpx.AsyncClient:
    """Return the client that webhooks share; a request takes at most ``limit`` per stage, redirects are not followed.

    httpx logs every address it calls, and an address is a secret here.
    """
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.AsyncClient(timeout=limit.total_seconds(), follow_redirects=False)


class WebhookSink:
    """Posts notices to one address; raises Permanent for one that is none."""

    def __init__(self, address: str, client: httpx.AsyncClient) -> None:
        self._address = _checked(address)
        self._client = client

    async def deliver(self, notice: Notice) -> None:
        """Post it; Transient for 408, 423, 425, 429, 5xx and a silent or absent server, else Permanent if refused."""
        name = masked(str(self._address))
        try:
            answer = await self._client.post(
                self._address, json=document(notice), headers={"Idempotency-Key": notice.id}
            )
        except httpx.TimeoutException as error:
            raise Transient(f"{name} gave no answer in time ({type(error).__name__})") from None
        except httpx.TransportError as error:
            raise Transient(f"{name} cannot be reached ({type(error).__name__})") from None
        if not answer.is_success:
            raise _refused(name, answer)


def _checked(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
        whole = url.scheme in {"http", "https"} and url.host and urlsplit(address).port != 0
    except (httpx.InvalidURL, ValueError):
        whole = False
    if not whole:
        raise Permanent(f"{masked(address)} is no http(s) address: correct the route") from None
    return url


def _refused(name: str, answer: httpx.Response) -> Transient | Permanent:
    because = f"{name} answered {answer.status_code}"
    if answer.status_code in PASSING or answer.is_server_error:
        return Transient(because, retry_after=_retry_after(answer))
    return Permanent(because)


def _retry_after(answer: httpx.Response) -> timedelta:
    """Return the pause that the server asks for, in seconds or as a date (RFC 9110, 10.2.3); zero if it does not."""
    asked = answer.headers.get("Retry-After", "")
    if asked.isdecimal():
        return timedelta(seconds=int(asked[:9]))
    try:
        return max(timedelta(0), parsedate_to_datetime(asked) - datetime.now(UTC))
    except (TypeError, ValueError):
        return timedelta(0)
