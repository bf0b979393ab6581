"""The tokens that the bus and its gate exchange: JWTs of NATS (version 2, algorithm ed25519-nkey), as claims.

After the claims of the server's own library (nats-io/jwt v2: authorization_claims, user_claims).
"""

import base64
import hashlib
import json
from datetime import datetime

from keepstep.adapters.claims import Claims
from keepstep.runtime.nkeys import KeyPair
from keepstep.runtime.rights import Rights

_VERSION = 2
_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
_UNLIMITED = -1
"""Limits in a token must be said, and are not heeded where the gate gave it (nats-server 2.15)."""


def user_token(key: KeyPair, user: str, rights: Rights, *, account: str, now: datetime, until: datetime) -> str:
    """Return the token by which the server takes the public key ``user`` for somebody with these rights, until then."""
    permissions = {
        "pub": {"allow": list(rights.publish)},
        "sub": {"allow": list(rights.subscribe)},
        "subs": _UNLIMITED,
        "data": _UNLIMITED,
        "payload": _UNLIMITED,
    }
    claims = {"aud": account, "sub": user, "name": rights.user, "exp": int(until.timestamp())}
    return _signed(key, claims, {**permissions, "type": "user"}, now=now)


def answer_token(key: KeyPair, user: str, *, server: str, now: datetime, token: str = "", refusal: str = "") -> str:
    """Return the answer to one server's question about a knock: a user's token, or why there is none."""
    said = {"jwt": token} if token else {"error": refusal}
    return _signed(key, {"aud": server, "sub": user}, {**said, "type": "authorization_response"}, now=now)


def _signed(key: KeyPair, claims: Claims, nats: Claims, *, now: datetime) -> str:
    full = {**claims, "iss": key.public, "iat": int(now.timestamp()), "nats": {**nats, "version": _VERSION}}
    full["jti"] = hashlib.sha256(json.dumps(full, sort_keys=True).encode()).hexdigest()
    text = f"{_encoded(_HEADER)}.{_encoded(full)}"
    return f"{text}.{_base64(key.sign(text.encode()))}"


def _encoded(part: Claims) -> str:
    return _base64(json.dumps(part, separators=(",", ":")).encode())


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
