"""Texts that only this process can have written: what a browser keeps for us comes back as it was, or not at all.

The key is made at the start and told to nobody, so nothing signed outlives the process: a restart logs everybody out,
and what was ended before it cannot come back.
"""

import base64
import binascii
import hmac
import secrets
from typing import TypeVar

from pydantic import ValidationError

from keepstep.contracts.model import Frozen

F = TypeVar("F", bound=Frozen)
LONGEST = 4096
"""Bytes of a cookie that browsers keep; what is longer was not written here."""


class Signer:
    """Signs and reads; ``purpose`` keeps what was signed for one use out of another."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def sign(self, purpose: str, value: Frozen) -> str:
        """Return the value as text for a cookie."""
        body = _packed(value.model_dump_json().encode())
        return f"{body}.{self.mark(purpose, body)}"

    def read(self, purpose: str, text: str, kind: type[F]) -> F | None:
        """Return the value; None for what was not signed here for this purpose."""
        body, dot, mark = text.partition(".")
        if not dot or len(text) > LONGEST or not _same(mark, self.mark(purpose, body)):
            return None
        try:
            return kind.read(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (binascii.Error, ValidationError):
            return None

    def mark(self, purpose: str, text: str) -> str:
        """Return what shows that a text was given out here for a purpose."""
        return _packed(hmac.digest(self._key, f"{purpose}\0{text}".encode(), "sha256"))

    def marked(self, purpose: str, text: str, mark: str) -> bool:
        """Return whether a mark is the one for the text and purpose."""
        return _same(mark, self.mark(purpose, text))


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
