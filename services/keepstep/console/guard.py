"""Keeps out who must not come in while the console has no login: other machines, other users, other people's pages.

A page of any site can have a browser speak to a loopback port, and every user of a machine reaches it. So a request
must name a loopback host (a name that was rebound to 127.0.0.1 is another site's), come from a page of our own where it
tells its origin or site, unless somebody follows a link, and from a process of the user whom the console runs as, or
root's.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from keepstep.adapters.peers import owner_of
from keepstep.console.audit import Audit
from keepstep.console.requested import OURS, SAFE, path_of
from keepstep.console.settings import LOOPBACK
from keepstep.contracts.taxonomy import Entrance

OPEN = frozenset({"/healthz", "/readyz", "/metrics"})
"""What whoever watches the console may ask without being anybody."""
ROOT = 0


def objection(method: str, headers: Mapping[str, str]) -> str | None:
    """Return why a request without login is not answered, None where it is."""
    try:
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        page = urlsplit(headers.get("origin", "")).netloc
    except ValueError:
        return "Host and Origin must be addresses"
    if host not in LOOPBACK:
        return f"without a login the console answers on this machine only, not as {host or 'a host without name'}"
    origin = headers.get("origin")
    if method not in SAFE and origin is not None and page != headers.get("host"):
        return f"a page of {origin} may not order anything here"
    follows = method in SAFE and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in OURS and not follows:
        return "a page of another site may link here and do nothing else"
    return None


def strange(client: tuple[str, int] | None) -> bool:
    """Return whether the process at the other end is known to be another user's."""
    if client is None:
        return False
    owner = owner_of(*client)
    return owner is not None and owner not in (ROOT, os.getuid())


class Guard:
    """Middleware for a console without login; one with a login does not use it."""

    def __init__(self, app: ASGIApp, *, audit: Audit) -> None:
        self._app, self._audit = app, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403, or let the request pass."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        why = objection(scope["method"], asked.headers)
        if why is None and strange(None if asked.client is None else (asked.client.host, asked.client.port)):
            why = "without a login the console answers only the user whom it runs as"
        if why is None:
            await self._app(scope, receive, send)
        else:
            address = "" if asked.client is None else asked.client.host
            self._audit.refused(Entrance.LOCAL, why, address, asked=f"{scope['method']} {path_of(scope)}")
            await PlainTextResponse(f"{why}\n", 403)(scope, receive, send)
