"""A mail server that keeps what it gets and answers as it is told."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "keepstep", "pa55-of-the-mail"


class MailServer:
    """Handler of aiosmtpd."""

    def __init__(self) -> None:
        self.got: list[EmailMessage] = []
        self.to: list[list[str]] = []
        self.answers: deque[str] = deque()
        """Answers to the end of a message, before ``250``."""
        self.refused: dict[str, str] = {}
        """Answers to recipients."""
        self.logins = 0

    async def handle_RCPT(  # noqa: N802 - aiosmtpd names it
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - the same
        if self.answers:
            return self.answers.popleft()
        assert isinstance(envelope.content, bytes)
        self.got.append(message_from_bytes(envelope.content, _class=EmailMessage, policy=policy.default))
        self.to.append(envelope.rcpt_tos)
        return "250 2.0.0 queued as 4711"

    def login(self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, auth: object) -> AuthResult:
        """Take the one user there is."""
        self.logins += 1
        known = isinstance(auth, LoginPassword) and (auth.login, auth.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=known, handled=known)


@asynccontextmanager
async def serving(server: MailServer, *, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run it on a free port of loopback and give the port; with a context it wants STARTTLS and a login."""
    loop = asyncio.get_running_loop()

    def made() -> SMTP:
        if context is None:
            return SMTP(server, hostname="localhost", loop=loop)
        return SMTP(
            server,
            hostname="localhost",
            loop=loop,
            tls_context=context,
            require_starttls=True,
            auth_required=True,
            authenticator=server.login,
        )

    listening = await loop.create_server(made, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await listening.wait_closed()
