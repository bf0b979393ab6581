"""What one address of the bus says: where it is, who asks, whose certificate is believed, where answers arrive.

``nats://token@host:4222``, ``nats://user:password@host:4222``, ``tls://user:password@host:4222?ca=/path/ca.crt`` or
``...?cadata=<the certificate's PEM in url-safe base64>``, for whoever is given an address and no file.
"""

import base64
import binascii
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
    """What the client is given: the same without the certificate."""
    inbox: str = SHARED_INBOX
    authority: str = ""
    """File of the certificate authority that signed the server's; "" for those that the machine believes."""
    certificate: str = ""
    """The same as base64 of PEM."""
    credentials: bool = False
    """It says who asks."""

    def trust(self) -> ssl.SSLContext | None:
        """Return whom to believe, None for the client's own choice. Raises Permanent for what is no certificate."""
        if not self.authority and not self.certificate:
            return None
        try:
            pem = base64.urlsafe_b64decode(self.certificate).decode()
            return ssl.create_default_context(cafile=self.authority or None, cadata=pem or None)
        except (OSError, ssl.SSLError, binascii.Error, UnicodeDecodeError) as error:
            named = self.authority or "in its address"
            raise Permanent(f"the bus's ca {named} cannot be read: {error}; see KEEPSTEP_NATS_URL") from error


def inline(url: str, certificate: bytes) -> str:
    """Return the address with the authority's certificate (PEM) in it."""
    return f"{url}?cadata={base64.urlsafe_b64encode(certificate).decode()}"


def parse(url: str) -> Address:
    """Take an address apart; a user with a password has an inbox of its own, as rights on the server are by user."""
    parts = urlsplit(url)
    told = parse_qs(parts.query)
    bare = urlunsplit(parts._replace(query=""))
    named = parts.username if parts.username and parts.password else None
    box = inbox(unquote(named)) if named else SHARED_INBOX
    knows = parts.username is not None
    return Address(bare, box, told.get("ca", [""])[0], told.get("cadata", [""])[0], credentials=knows)
