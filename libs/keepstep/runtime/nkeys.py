"""Keys as NATS writes them: Ed25519, spelled in base32 with a prefix that tells the role and a checksum at the end.

The form is that of the nkeys library of NATS. Its Python port wraps another library for the one thing that takes
cryptography, so that is done here with a kept one.
"""

import base64
import binascii
import secrets
from enum import IntEnum

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SEED = 18 << 3
_RAW = 32


class Role(IntEnum):
    """Whose key it is; the value is the prefix byte, which becomes the first letter: A, U, N."""

    ACCOUNT = 0
    USER = 20 << 3
    SERVER = 13 << 3


class KeyPair:
    """A key that signs."""

    def __init__(self, role: Role, seed: bytes) -> None:
        self._role, self._seed = role, seed
        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    @classmethod
    def new(cls, role: Role) -> "KeyPair":
        """Draw a key."""
        return cls(role, secrets.token_bytes(_RAW))

    @classmethod
    def read(cls, seed: str) -> "KeyPair":
        """Return the key of a seed as it is written. Raises ValueError for what is none; the message tells nothing."""
        body = _unspelled(seed)
        role = (body[0] & 7) << 5 | body[1] >> 3
        if body[0] & 0xF8 != _SEED or len(body) != _RAW + 2 or role not in set(Role):
            raise ValueError("this is no seed of a NATS key")
        return cls(Role(role), body[2:])

    @property
    def public(self) -> str:
        """Return the public half as it is written."""
        return _spelled(bytes([self._role]) + self._key.public_key().public_bytes_raw())

    @property
    def seed(self) -> str:
        """Return the secret half as it is written: whoever reads it can sign."""
        head = bytes([_SEED | self._role >> 5, (self._role & 31) << 3])
        return _spelled(head + self._seed)

    def sign(self, text: bytes) -> bytes:
        """Return the signature, 64 bytes."""
        return self._key.sign(text)


def is_public(text: str, role: Role) -> bool:
    """Return whether a text is a public key of this role, by its form."""
    try:
        body = _unspelled(text)
    except ValueError:
        return False
    return len(body) == _RAW + 1 and body[0] == role


def _spelled(body: bytes) -> str:
    checked = body + binascii.crc_hqx(body, 0).to_bytes(2, "little")
    return base64.b32encode(checked).decode().rstrip("=")


def _unspelled(text: str) -> bytes:
    try:
        checked = base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error as error:
        raise ValueError("this is no NATS key") from error
    body, checksum = checked[:-2], checked[-2:]
    if len(body) < 2 or binascii.crc_hqx(body, 0).to_bytes(2, "little") != checksum:
        raise ValueError("the checksum of a NATS key is wrong")
    return body
