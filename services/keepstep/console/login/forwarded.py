"""Whom a request comes from and how, where a proxy stands between: only proxies that were named are believed.

Everybody can write X-Forwarded-For. Counted from the right, the first address that no named proxy has is the one that a
named proxy saw itself; what stands left of it is hearsay.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from keepstep.console.login.settings import Network

FOR, PROTO = "x-forwarded-for", "x-forwarded-proto"


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in one word of X-Forwarded-For, with or without a port; None where there is none."""
    word = text.strip()
    if word.startswith("["):
        word = word[1:].partition("]")[0]
    elif word.count(":") == 1:
        word = word.partition(":")[0]
    try:
        found = ip_address(word)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return found if mapped is None else mapped


def client_of(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return who asks: the peer, or whom the named proxies saw; ``forwarded`` are all lines of X-Forwarded-For."""
    seen = peer
    for word in reversed(",".join(forwarded).split(",")):
        if not _named(seen, proxies):
            break
        found = address_of(word)
        if found is None:
            break
        seen = str(found)
    return seen


def _named(peer: str, proxies: Sequence[Network]) -> bool:
    found = address_of(peer)
    return found is not None and any(found in network for network in proxies)


class Forwarded:
    """Middleware that puts the true client and scheme in place; the outermost, since all others ask for them."""

    def __init__(self, app: ASGIApp, *, proxies: Sequence[Network]) -> None:
        self._app, self._proxies = app, tuple(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        peer = scope.get("client")
        if scope["type"] == "http" and peer is not None and _named(peer[0], self._proxies):
            told = Headers(scope=scope)
            proto = told.get(PROTO, "").rpartition(",")[2].strip().lower()
            client = client_of(peer[0], told.getlist(FOR), self._proxies)
            scope = dict(scope, client=(client, peer[1] if client == peer[0] else 0))
            if proto in ("http", "https"):
                scope["scheme"] = proto
        await self._app(scope, receive, send)
