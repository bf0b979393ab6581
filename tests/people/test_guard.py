"""The guard: nothing of the inside is called unless the site allows it, whatever a name says the second time."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from keepstep.adapters.channel_guard import Allowed, GuardedTransport
from keepstep.adapters.channel_post import Request, post, quiet_client
from keepstep.ports.errors import Permanent, Transient
from tests.people.vendors.robots import WeCom
from tests.people.vendors.server import running

INSIDE = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",  # noqa: S104 - an address to be refused, nothing is bound
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "169.254.0.9",
    "100.64.0.1",
    "100.100.100.200",
    "224.0.0.1",
    "240.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "fec0::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::1",
    "::127.0.0.1",
]


@pytest.mark.parametrize("address", INSIDE)
def test_what_is_inside_is_refused(address: str) -> None:
    assert Allowed().refusal("hooks.example", ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "203.0.114.9", "2606:4700::1111", "64:ff9b::101:101"])
def test_what_is_outside_is_called(address: str) -> None:
    assert Allowed().refusal("hooks.example", ip_address(address)) == ""


@pytest.mark.parametrize(
    ("entry", "address", "allowed"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "192.168.0.1", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("hooks.example", "10.1.2.3", True),
        ("HOOKS.example.", "10.1.2.3", True),
        ("other.example", "10.1.2.3", False),
        ("fd00::/8", "fd12::1", True),
        ("169.254.0.0/16", "169.254.169.254", False),
        ("0.0.0.0/0", "169.254.169.254", False),
        ("hooks.example", "169.254.169.254", False),
        ("fd00::/8", "fd00:ec2::254", False),
        ("169.254.169.254", "169.254.169.254", True),
        ("127.0.0.0/8", "::ffff:127.0.0.1", True),
    ],
)
def test_the_site_allows_its_own_and_metadata_only_by_its_very_address(entry: str, address: str, allowed: bool) -> None:
    assert (Allowed([entry]).refusal("hooks.example", ip_address(address)) == "") is allowed


class Names:
    """A name service that answers one after the other."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), list[str]()

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0)


def client(names: Names, *allow: str, context: ssl.SSLContext | None = None) -> httpx.AsyncClient:
    transport = GuardedTransport(Allowed(allow), resolve=names, context=context)
    return quiet_client(limit=timedelta(seconds=5), transport=transport)


async def test_a_name_is_asked_once_and_the_answer_that_was_judged_is_called() -> None:
    with running(WeCom()) as server:
        names = Names(["127.0.0.1"], ["10.9.9.9"])
        url = httpx.URL(server.url).copy_with(host="hooks.example")
        reply = await post(client(names, "127.0.0.0/8"), Request(url, b'{"msgtype": "text", "text": {"content": "x"}}'))
        assert reply.status == 200
        assert names.asked == ["hooks.example"]
        assert server.asked[0].headers["Host"] == f"hooks.example:{server.server.server_port}"


@pytest.mark.parametrize("answers", [["10.1.2.3"], ["1.1.1.1", "10.1.2.3"], ["::1"]])
async def test_a_name_with_an_inner_address_is_never_called(answers: list[str]) -> None:
    with pytest.raises(Permanent, match="add it to allow in the channels file"):
        await post(client(Names(answers)), Request(httpx.URL("https://hooks.example/t0ken"), b""))


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "[::1]", "127.1"])
async def test_no_way_of_writing_loopback_gets_through(host: str) -> None:
    with running(WeCom()) as server:
        url = f"http://{host}:{server.server.server_port}/cgi-bin/webhook/send?key=t0ken"
        calling = quiet_client(limit=timedelta(seconds=5), transport=GuardedTransport(Allowed()))
        with pytest.raises((Permanent, Transient)):
            await post(calling, Request(httpx.URL(url), b"{}"))
        assert server.asked == []


async def test_a_proxy_of_the_environment_does_not_lead_around_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(WeCom()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.root)
        monkeypatch.setenv("ALL_PROXY", proxy.root)
        with pytest.raises(Permanent, match="private address"):
            await post(client(Names(["10.1.2.3"])), Request(httpx.URL("http://hooks.example/"), b""))
        assert proxy.asked == []


async def test_behind_a_proxy_the_proxy_is_asked_for_what_only_it_can_resolve() -> None:
    with running(WeCom()) as proxy:
        proxy.forced.append((200, {}, "taken"))
        guard = GuardedTransport(Allowed(), resolve=Names([], ["10.1.2.3"]), proxy=proxy.root)
        calling = quiet_client(limit=timedelta(seconds=5), transport=guard)
        url = httpx.URL("http://hooks.example/t0ken")
        assert (await post(calling, Request(url, b"{}"))).text == "taken"
        assert proxy.asked[0].headers["Host"] == "hooks.example"
        with pytest.raises(Permanent, match="private address"):
            await post(calling, Request(url, b"{}"))
        assert len(proxy.asked) == 1


async def test_a_name_that_is_nobodys_may_be_there_later() -> None:
    with pytest.raises(Transient, match="cannot be reached"):
        await post(client(Names([])), Request(httpx.URL("http://hooks.example/"), b""))


async def test_the_second_address_is_called_where_the_first_is_silent() -> None:
    with running(WeCom()) as server:
        url = httpx.URL(server.url).copy_with(host="hooks.example")
        names = Names(["127.0.0.2", "127.0.0.1"])
        server.forced.append((200, {}, "taken"))
        assert (await post(client(names, "127.0.0.0/8"), Request(url, b"{}"))).text == "taken"


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://bücher.example/x", "xn--bcher-kva.example"),
        ("http://[::1]/x", "::1"),
        ("http://HOOKS.example/x", "hooks.example"),
    ],
)
async def test_a_name_is_asked_for_as_it_goes_over_the_wire(url: str, asked: str) -> None:
    names = Names(["10.1.2.3"])
    with pytest.raises(Permanent, match="private address"):
        await post(client(names), Request(httpx.URL(url), b""))
    assert names.asked == [asked]


async def test_an_address_of_the_newer_kind_is_called_too() -> None:
    try:
        listening = await asyncio.start_server(_answering, "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    port = listening.sockets[0].getsockname()[1]
    reply = await post(client(Names(["::1"]), "::1"), Request(httpx.URL(f"http://hooks.example:{port}/x"), b""))
    listening.close()
    assert reply.text == "taken"


async def _answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken")
    await writer.drain()
    writer.close()


def certificate(folder: Path, name: str) -> Path:
    """Write a key and a certificate for ``name`` that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(("name", "works"), [("hooks.example", True), ("other.example", False)])
async def test_the_certificate_is_held_to_the_name_though_the_address_is_called(
    tmp_path: Path, name: str, works: bool
) -> None:
    pem = certificate(tmp_path, name)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(pem)
    trusting = ssl.create_default_context(cafile=str(pem))
    with running(WeCom()) as server:
        server.server.socket = serving.wrap_socket(server.server.socket, server_side=True)
        url = httpx.URL(f"https://hooks.example:{server.server.server_port}/cgi-bin/webhook/send?key=x")
        calling = client(Names(["127.0.0.1"]), "127.0.0.0/8", context=trusting)
        if works:
            assert (await post(calling, Request(url, b"{}"))).status == 200
        else:
            with pytest.raises(Transient, match="cannot be reached"):
                await post(calling, Request(url, b"{}"))
            assert server.asked == []
