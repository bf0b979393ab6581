"""Sends one request of a channel and hands the answer back.

Of the address no error, log line or traceback shows more than its host.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx
import orjson

from keepstep.core.masking import masked
from keepstep.ports.errors import Permanent, Transient

PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.LOCKED})
"""Refusals that a later try may not meet; so are all of the 500s."""
JSON_UTF8 = {"Content-Type": "application/json; charset=utf-8"}
WHOLE = 2
"""How many limits of a stage a whole request may take: a server that sends a byte now and then never ends one."""
LARGEST = 64 * 1024
"""Bytes of an answer that are read: vendors answer in one line."""
SHOWN = 200
"""Characters of a vendor's text that an error repeats."""


@dataclass(frozen=True)
class Request:
    """One request, whole; it holds secrets and prints none."""

    url: httpx.URL = field(repr=False)
    content: bytes = field(repr=False)
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What must not show beside the address: keys of signatures, values of headers."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    text: str
    retry_after: timedelta = timedelta(0)

    def json(self) -> dict[str, object]:
        """Return the answer's JSON object, an empty one where it is none."""
        try:
            read = orjson.loads(self.text)
        except orjson.JSONDecodeError:
            return {}
        return read if isinstance(read, dict) else {}


def quiet_client(*, limit: timedelta, transport: httpx.AsyncBaseTransport) -> httpx.AsyncClient:
    """Return the client that channels share: it follows no redirects and knows no proxies of the environment.

    A stage of a request takes at most ``limit``. httpx logs every address it calls, and an address is a secret here.
    """
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.AsyncClient(
        transport=transport, timeout=limit.total_seconds(), follow_redirects=False, trust_env=False
    )


async def post(client: httpx.AsyncClient, request: Request) -> Reply:
    """Return the server's answer, whatever its status. Raises Transient where none came, Permanent where none may."""
    name = masked(str(request.url))
    failure: Transient | Permanent
    try:
        stage_s = client.timeout.read
        async with asyncio.timeout(None if stage_s is None else WHOLE * stage_s):
            return await _answered(client, request)
    except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError, TypeError) as error:
        failure = Permanent(f"{name} cannot be asked so ({type(error).__name__}): correct url, headers and params")
    except (httpx.TimeoutException, TimeoutError) as error:
        failure = Transient(f"{name} gave no answer in time ({type(error).__name__})", code="timeout")
    except (httpx.TransportError, httpx.DecodingError) as error:
        failure = Transient(f"{name} cannot be reached ({type(error).__name__})", code="unreachable")
    raise failure


async def _answered(client: httpx.AsyncClient, request: Request) -> Reply:
    asked = client.stream(request.method, request.url, content=request.content, headers=dict(request.headers))
    async with asked as answer:
        raw = b""
        async for chunk in answer.aiter_bytes():
            raw += chunk
            if len(raw) > LARGEST:
                break
        return Reply(answer.status_code, raw[:LARGEST].decode("utf-8", "replace"), retry_after(answer.headers))


def retry_after(headers: Mapping[str, str]) -> timedelta:
    """Return the pause that the server asks for, in seconds or as a date (RFC 9110, 10.2.3); zero if it does not."""
    asked = headers.get("Retry-After", "")
    if asked.isdecimal():
        return timedelta(seconds=int(asked[:9]))
    try:
        return max(timedelta(0), parsedate_to_datetime(asked) - datetime.now(UTC))
    except (TypeError, ValueError):
        return timedelta(0)


def refused(name: str, reply: Reply) -> Transient | Permanent:
    """Return the error for an answer that is known by its status alone."""
    because, code = f"{name} answered {reply.status}", str(reply.status)
    if reply.status in PASSING or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Transient(because, retry_after=reply.retry_after, code=code)
    return Permanent(because, code=code)
