"""Keeps channels from calling what is inside: addresses are resolved, judged, and called as judged.

Whoever may write a route could otherwise have the notifier ask the metadata service of the cloud for its credentials.
The name is resolved once and the connection goes to that very address, so that a second answer of the name service
(DNS rebinding) changes nothing; redirects are not followed at all.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import httpx

from keepstep.contracts.channel_parts import network_of
from keepstep.ports.errors import Permanent

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From host and port to its addresses; raises OSError."""

METADATA = frozenset(map(ip_address, ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")))
"""Where clouds keep credentials of machines (AWS, Azure, Google, ECS, Alibaba): only an entry of its own allows one."""
NAT64 = ip_network("64:ff9b::/96")


class Allowed:
    """The site's own addresses that may be called although they are private."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        """``entries``: networks, addresses and host names; raises ValueError for what is none."""
        read = [network_of(entry) for entry in entries]
        self._networks = [one for one in read if not isinstance(one, str)]
        self._names = frozenset(one for one in read if isinstance(one, str))

    def refusal(self, host: str, address: Address) -> str:
        """Return why this address of ``host`` may not be called, empty if it may."""
        inner = _embedded(address)
        if inner is not None:
            return self.refusal(host, inner)
        if address in METADATA:
            return "" if self._alone(address) else "the metadata service of a cloud"
        if _public(address):
            return ""
        if host.lower().rstrip(".") in self._names or any(self._holds(one, address) for one in self._networks):
            return ""
        return _what(address)

    def _alone(self, address: Address) -> bool:
        return any(one.num_addresses == 1 and self._holds(one, address) for one in self._networks)

    @staticmethod
    def _holds(network: IPv4Network | IPv6Network, address: Address) -> bool:
        return network.version == address.version and address in network


def _public(address: Address) -> bool:
    inside = address.is_multicast or address.is_reserved or (address.version == 6 and address.is_site_local)
    return address.is_global and not inside


def _embedded(address: Address) -> Address | None:
    """Return the IPv4 address that an IPv6 one stands for."""
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _what(address: Address) -> str:
    if address.is_loopback or address.is_unspecified:
        return "this machine itself"
    if address.is_link_local:
        return "a link-local address"
    return "a multicast address" if address.is_multicast else "a private address"


async def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host as the machine's resolver knows them, each once. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(row[4][0]).partition("%")[0] for row in found))


@cache
def _trusted() -> ssl.SSLContext:
    """Return the context that trusts the public authorities; reading them takes longer than a request."""
    return httpx.create_ssl_context()


class GuardedTransport(httpx.AsyncBaseTransport):
    """Calls the address that was judged, with the name in Host header, SNI and check of the certificate."""

    def __init__(
        self,
        allowed: Allowed,
        *,
        resolve: Resolve = resolved,
        context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        """Connections are not kept: one address can be several hosts', whose certificates were not looked at.

        ``proxy`` is the only way out, if it is given: what is called is judged as far as its name is known here, and
        left to the proxy to resolve.
        """
        self._allowed, self._resolve, self._pins = allowed, resolve, proxy is None
        self._inner = httpx.AsyncHTTPTransport(
            verify=context or _trusted(), limits=httpx.Limits(max_keepalive_connections=0), proxy=proxy
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it; raises Permanent for a host of which any address is refused, httpx.TransportError as usual."""
        host = request.url.raw_host.decode("ascii")
        failure: httpx.ConnectError | None = None
        addresses = await self._judged(request, host)
        if not self._pins:
            return await self._inner.handle_async_request(request)
        for address in addresses:
            pinned = httpx.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions | {"sni_hostname": host},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = httpx.ConnectError(type(error).__name__, request=request)
        raise failure or httpx.ConnectError("the host has no address", request=request)

    async def _judged(self, request: httpx.Request, host: str) -> Sequence[str]:
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            found = ()
        for one in found:
            if why := self._allowed.refusal(host, ip_address(one)):
                raise Permanent(f"{host} is {one}, {why}: if it is to be called, add it to allow in the channels file")
        return found

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()
