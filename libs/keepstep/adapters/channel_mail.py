"""Mail over SMTP: plain text and HTML, the messages of one incident as one conversation."""

import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import format_datetime
from hashlib import sha256

import aiosmtplib

from keepstep.adapters.channel_layout import laid_out
from keepstep.adapters.channel_markup import Format
from keepstep.adapters.channel_secret import Mask, revealed
from keepstep.adapters.channel_words import SHORT_ID, Words, plain, worded
from keepstep.contracts.channel_kinds import Mail
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Notice, Receipt

SHOWN = 200


class MailSink:
    """Port Sink over one mail server."""

    def __init__(self, channel: Mail, clock: Clock, *, seconds: float) -> None:
        """``seconds``: how long each step of the conversation with the server may take."""
        self._channel, self._clock, self._seconds = channel, clock, seconds

    async def deliver(self, notice: Notice) -> Receipt:
        """Send one message to all; Transient for 4xx and an absent server, Permanent for 5xx and for no recipients."""
        channel = self._channel
        to = tuple(dict.fromkeys((*channel.to, *notice.mentions.emails)))
        if not to:
            raise Permanent(f"{channel.name}: nobody to tell: set to, or mention people with an email in the rule")
        message = self._message(notice, to)
        password = revealed(channel.password, channel.password_file)
        try:
            return await self._sent(message, password)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            failure = self._failure(error, password)
        raise failure

    async def _sent(self, message: EmailMessage, password: str) -> Receipt:
        channel = self._channel
        server = aiosmtplib.SMTP(
            hostname=channel.host,
            port=channel.port,
            timeout=self._seconds,
            use_tls=channel.tls == "tls",
            start_tls=channel.tls == "starttls",
            cert_bundle=None if channel.ca_file is None else str(channel.ca_file),
            username=channel.user or None,
            password=password or None,
        )
        async with server:
            left_out, answer = await server.send_message(message)
        told = Mask((password,)).hide(" ".join(plain(answer).split()))[:SHOWN]
        missing = f"; not taken: {', '.join(sorted(left_out))}" if left_out else ""
        return Receipt("250", f"{told}{missing}")

    def _failure(self, error: Exception, password: str) -> Transient | Permanent:
        channel, kind = self._channel, type(error).__name__
        server = f"{channel.host}:{channel.port}"
        match error:
            case aiosmtplib.SMTPRecipientsRefused():
                codes = [one.code for one in error.recipients]
                return self._refused(min(codes), f"nobody was taken: {error.recipients[0].message}", password)
            case aiosmtplib.SMTPResponseException():
                return self._refused(error.code, error.message, password)
            case ssl.SSLError():
                remedy = "set ca_file to the certificates of who signed its own, and host to the name in it"
                return Transient(f"{channel.name}: {server} is not trusted ({kind}): {remedy}", code="untrusted")
            case FileNotFoundError() | PermissionError():
                return Transient(f"{channel.name}: {channel.ca_file} cannot be read: {error.strerror}; mount it there")
            case ValueError():
                return Permanent(f"{channel.name}: {error}: correct user, password and tls")
            case _:
                return Transient(f"{channel.name}: {server} cannot be reached ({kind})", code="unreachable")

    def _refused(self, code: int, text: str, password: str) -> Transient | Permanent:
        said = Mask((password,)).hide(" ".join(plain(text).split()))[:SHOWN]
        because = f"{self._channel.name} answered {code} ({said})"
        if 400 <= code < 500 or code < 0:
            return Transient(because, code=str(code))
        return Permanent(because, code=str(code))

    def _message(self, notice: Notice, to: Sequence[str]) -> EmailMessage:
        channel = self._channel
        words = worded(notice, channel.language, channel.zone)
        domain = channel.sender.rpartition("@")[2]
        root = f"<{sha256(str(notice.thread).encode()).hexdigest()[:32]}@{domain}>"
        message = EmailMessage()
        message["Subject"] = subject(notice, words)
        message["From"] = f"keepstep <{channel.sender}>"
        message["To"] = ", ".join(to)
        message["Date"] = format_datetime(notice.at or self._clock.now())
        message["Message-ID"] = f"<{sha256(notice.id.encode()).hexdigest()[:32]}@{domain}>"
        message["In-Reply-To"] = message["References"] = root
        message["Auto-Submitted"] = "auto-generated"
        message["X-Keepstep-Notice"] = plain(notice.id)
        message.set_content(laid_out(words, Format.TEXT))
        message.add_alternative(laid_out(words, Format.HTML), subtype="html")
        return message


def subject(notice: Notice, words: Words) -> str:
    """Return the same subject for all messages of an incident: readers of mail group by it."""
    if not words.incident or words.members:
        return f"[keepstep] {words.title}"
    about = notice.job or notice.subject or words.title
    again = "Re: " if notice.sequence > 1 else ""
    return " ".join(plain(f"{again}[keepstep] {about}: {words.incident[:SHORT_ID]}").split())
