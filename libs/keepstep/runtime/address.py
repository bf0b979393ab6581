"""What one address of the bus says: where it is, who asks, whose certificate is believed, where answers arrive.

``nats://token@host:4222``, ``nats://user:password@host:4222`` or ``tls://user:password@host:4222?ca=/path/ca.crt``.
"""

import ssl
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from keepstep.ports.errors import Permanent
from keepstep.runtime.rights import inbox

SHARED_INBOX = "_INBOX"
"""The client's own default, for servers that keep nobody from anybody."""


@dataclass(frozen=True)
class Address:
    """An address, taken apart."""

    url: str
    """What the client is given: the same without the certificate's file."""
    inbox: str = SHARED_INBOX
    authority: str = ""
    """File of the certificate authority that signed the server's; "" for those that the machine believes."""

    def trust(self) -> ssl.SSLContext | None:
        """Return whom to believe, None for the client's own choice. Raises Permanent for a file that is none."""
        if not self.authority:
            return None
        try:
            return ssl.create_default_context(cafile=self.authority)
        except (OSError, ssl.SSLError) as error:
            raise Permanent(f"the bus's ca {self.authority} cannot be read: {error}; see KEEPSTEP_NATS_URL") from error


def parse(url: str) -> Address:
    """Take an address apart; a user with a password has an inbox of its own, as rights on the server are by user."""
    parts = urlsplit(url)
    authority = parse_qs(parts.query).get("ca", [""])[0]
    bare = urlunsplit(parts._replace(query=""))
    named = parts.username if parts.username and parts.password else None
    return Address(bare, inbox(unquote(named)) if named else SHARED_INBOX, authority)
