"""Each kind of channel, with what it alone needs to be told."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, SecretStr, field_validator

from keepstep.contracts.channel_parts import (
    Addressed,
    Limit,
    Mailbox,
    Mobile,
    Signed,
    Spoken,
    at_most_one_of,
    one_of,
)
from keepstep.contracts.model import Strict
from keepstep.contracts.taxonomy import ChannelKind, Severity

Kind = ChannelKind
ROBOT = Limit(per_minute=20)
"""DingTalk's and WeCom's robots take 20 a minute; DingTalk then refuses for ten."""
BOT = Limit(per_minute=100, per_second=5)
"""Feishu's and Lark's custom bots."""


class DingTalk(Signed):
    """A custom robot of a DingTalk group."""

    MOST: ClassVar[Limit | None] = ROBOT
    kind: Literal[Kind.DINGTALK]
    limit: Limit = ROBOT
    style: Literal["card", "markdown", "text"] = "card"
    """``card`` is an actionCard with buttons where a message has links and calls nobody, else markdown."""


class Feishu(Signed):
    """A custom bot of a Feishu or Lark group; they differ in their host alone."""

    MOST: ClassVar[Limit | None] = BOT
    kind: Literal[Kind.FEISHU, Kind.LARK]
    limit: Limit = BOT
    style: Literal["card", "text"] = "card"


class WeCom(Addressed):
    """A robot of a WeCom group; its key is the whole secret."""

    MOST: ClassVar[Limit | None] = ROBOT
    kind: Literal[Kind.WECOM]
    limit: Limit = ROBOT
    style: Literal["markdown", "card", "text"] = "markdown"
    """``card`` is a template_card, which calls nobody: a message with mentions goes out as markdown all the same."""


class Slack(Addressed):
    """An incoming webhook of Slack."""

    kind: Literal[Kind.SLACK]
    limit: Limit = Limit(per_minute=60, per_second=1)
    """Slack's own rule: one a second, short bursts excepted."""


FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Headers that say where a request goes and where it ends: another value would smuggle one past what was checked."""
HEADER = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,80}$")


class Answer(Strict):
    """Where a gateway's JSON answer says how it went; HTTP 200 alone says nothing for many of them."""

    field: str = Field(min_length=1)
    """Path of names and list positions in the answer, dotted: ``Code``, ``SendStatusSet.0.Code``."""
    success: tuple[str, ...] = ("0",)
    """Values, as text, that mean it was taken."""
    retry: tuple[str, ...] = ()
    """Values that mean to try again; all others are for good."""


class Call(Strict):
    """How a request of one's own making looks."""

    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    """GET has no body: what it says is in ``params``."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Sent as they are; values are secrets, for a token may be among them."""
    params: dict[str, SecretStr] = Field(default_factory=dict)
    """Added to the address; each value is a template as ``body`` is."""
    body: SecretStr | None = Field(default=None, max_length=20_000)
    """Jinja template of the body, in a sandbox; values are escaped for ``content_type``. None: the notice as JSON.

    A secret, for many gateways want their password in it.

    It may use id, thread, sequence, severity, kind, stage, event, incident, job, subject, title, text, facts, links,
    members, at, and, of SMS and phone, ``to`` (numbers) and ``message`` (the short text).
    """
    content_type: str = "application/json"
    answer: Answer | None = None
    """None: any 2xx is success, and a JSON answer is not looked into."""

    @field_validator("headers")
    @classmethod
    def _free(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        said: list[str] = []
        if taken := sorted(name for name in value if name.lower() in FRAMING):
            said.append(f"{', '.join(taken)} is the connection's own: leave it out")
        if wrong := sorted(name for name in value if not HEADER.match(name)):
            said.append(f"{', '.join(wrong)[:80]!r} is no name of a header: write letters, digits and dashes")
        if wrong := sorted(name for name, one in value.items() if not one.get_secret_value().isprintable()):
            names = f"{', '.join(wrong)[:80]!r}" if any(not HEADER.match(name) for name in wrong) else ", ".join(wrong)
            said.append(f"{names} has a line end or another control character: write one line")
        if said:
            raise ValueError("; ".join(said))
        return value


class Webhook(Addressed):
    """Any address that takes a request; the way to what no other kind covers."""

    kind: Literal[Kind.WEBHOOK]
    call: Call = Call()
    secret: SecretStr | None = None
    """Signs each request: ``X-Keepstep-Signature: t=<seconds>,v1=<hex of HMAC-SHA256 over "<seconds>.<body>">``."""
    secret_file: Path | None = None

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with the secret too."""
        yield from super().wrong()
        yield from at_most_one_of(self.secret, self.secret_file, "secret")


class Mail(Spoken):
    """A mail server; messages of one incident are one conversation."""

    kind: Literal[Kind.MAIL]
    host: str = Field(min_length=1)
    port: int = Field(default=587, ge=1, le=65535)
    """587 is submission with STARTTLS (RFC 6409), 465 with TLS from the start (RFC 8314)."""
    tls: Literal["starttls", "tls", "none"] = "starttls"
    """``none`` sends in the clear and is refused together with a password."""
    user: str = ""
    password: SecretStr | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    """Certificates of a private authority that signed the server's; None trusts those of the system."""
    sender: Mailbox
    to: tuple[Mailbox, ...] = ()
    """Always told; people whom a rule mentions beside."""

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with the password too."""
        yield from super().wrong()
        yield from at_most_one_of(self.password, self.password_file, "password")
        secret = self.password is not None or self.password_file is not None
        if secret and not self.user:
            yield "user: is missing: a password needs one"
        if secret and self.tls == "none":
            yield "tls: none would send the password in the clear: write starttls or tls"


class Gateway(Spoken):
    """A service that reaches telephones: a request of one's own making, or one that apprise knows."""

    url: SecretStr | None = None
    url_file: Path | None = None
    apprise: SecretStr | None = None
    """Address in apprise's form; ``{to}`` in it becomes the numbers, with ``/`` between them."""
    apprise_file: Path | None = None
    call: Call = Call(
        body=SecretStr('{"to": {{ to | tojson }}, "text": {{ message | tojson }}, "id": {{ id | tojson }}}')
    )
    to: tuple[Mobile, ...] = ()
    """Numbers that are always told; people whom a rule mentions beside."""
    each: bool = False
    """One request for each number, for gateways that take one at a time."""
    once: bool = True
    longest: int = Field(default=70, ge=20, le=1000)
    """Characters of a message: 70 are one SMS where any of them is Chinese (3GPP TS 23.038, UCS-2)."""

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with the way out too."""
        yield from super().wrong()
        ways = [one for one in (self.url, self.url_file, self.apprise, self.apprise_file) if one is not None]
        if len(ways) != 1:
            fault = "are given" if ways else "is missing"
            yield f"url: {len(ways) or 'it'} {fault}: write one of url, url_file, apprise, apprise_file"

    @property
    def by_apprise(self) -> bool:
        """Whether apprise calls the gateway."""
        return self.apprise is not None or self.apprise_file is not None


class Sms(Gateway):
    """Short messages: by default one for each incident."""

    kind: Literal[Kind.SMS]


class Phone(Gateway):
    """Calls that read a sentence out: by default one for each incident, and for critical ones alone."""

    kind: Literal[Kind.PHONE]
    minimum: Severity = Severity.CRITICAL
    longest: int = Field(default=120, ge=20, le=1000)
    """Characters that are read out: about twenty seconds."""


class AppriseChannel(Spoken):
    """The long tail: whatever apprise knows, by an address of its form."""

    kind: Literal[Kind.APPRISE]
    url: SecretStr | None = None
    url_file: Path | None = None

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with the address too."""
        yield from super().wrong()
        yield from one_of(self.url, self.url_file, "url")


class LogChannel(Spoken):
    """Lines of the service's log: a channel for trying rules out."""

    kind: Literal[Kind.LOG]
    limit: Limit = Limit(per_minute=6000)
