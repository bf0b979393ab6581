"""A small OpenID provider over HTTP: discovery, authorization, tokens, keys, userinfo, and what goes wrong with them.

It holds what it is asked to RFC 6749, RFC 7636 and OpenID Connect by its own code, and misbehaves where a test says.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from keepstep.console.serve import served

CLIENT, SECRET = "keepstep", "a very good secret"
Claims = dict[str, Any]


@cache
def key(kid: str, *, another: int = 0) -> RSAKey:
    """Return a key; making one takes a second of a busy machine."""
    return RSAKey.generate_key(2048, {"kid": kid}, private=True)


@dataclass
class Identity:
    """The provider: who logs in there, and how it misbehaves."""

    redirect: str
    issuer: str = ""
    person: Claims = field(default_factory=lambda: {"sub": "u1", "preferred_username": "ann", "groups": ["ml"]})
    key: RSAKey = field(default_factory=lambda: key("k1"))
    published: list[Any] = field(default_factory=list)
    secret: str = SECRET
    wrong: Claims = field(default_factory=dict)
    """Claims of the ID token that are not what they should be."""
    sign: Callable[["Identity", Claims], str] | None = None
    document: Claims = field(default_factory=dict)
    """What the discovery document says otherwise."""
    answers_with: Claims = field(default_factory=dict)
    """Further parameters of the answer to the browser."""
    userinfo: Claims = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    down: bool = False
    codes: dict[str, Claims] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.published = self.published or [self.key]

    async def discovery(self, _request: Request) -> Response:
        self.asked.append("discovery")
        if self.down:
            return Response("out of order", 503)
        places = {
            "authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys",
            "userinfo_endpoint": "userinfo",
        }  # fmt: skip
        found = {"issuer": self.issuer, **{name: f"{self.issuer}/{path}" for name, path in places.items()}}
        return JSONResponse(found | self.document)

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["redirect_uri"] == self.redirect
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = token_urlsafe(16)
        self.codes[code] = asked
        return RedirectResponse(
            f"{self.redirect}?{urlencode({'code': code, 'state': asked['state']} | self.answers_with)}"
        )

    async def token(self, request: Request) -> Response:
        self.asked.append("token")
        form = {name: values[-1] for name, values in parse_qs((await request.body()).decode()).items()}
        given = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
        if [unquote(part) for part in given.partition(":")[::2]] != [CLIENT, self.secret] and self.secret:
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if asked is None or challenge.decode() != asked["code_challenge"] or form["redirect_uri"] != self.redirect:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.person,
        }
        claims = {name: value for name, value in (claims | self.wrong).items() if value is not None}
        signed = (self.sign or signed_right)(self, claims)
        return JSONResponse({"access_token": "access", "token_type": "Bearer", "id_token": signed})

    async def keys(self, _request: Request) -> Response:
        return JSONResponse({"keys": [key.as_dict(private=False) for key in self.published]})

    async def info(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer access"
        self.asked.append("userinfo")
        return JSONResponse(self.userinfo)


def signed_right(identity: Identity, claims: Claims) -> str:
    return jwt.encode({"alg": "RS256", "kid": identity.key.kid}, claims, identity.key)


def unsigned(_identity: Identity, claims: Claims) -> str:
    return jwt.encode({"alg": "none"}, claims, OctKey.import_key("x" * 32), algorithms=["none"])


def signed_with_the_secret(_identity: Identity, claims: Claims) -> str:
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET * 3), algorithms=["HS256"])


def signed_with_the_public_key_as_secret(identity: Identity, claims: Claims) -> str:
    header = {"typ": "JWT", "alg": "HS256", "kid": identity.key.kid}  # by hand: the library does not lend itself to it
    text = b".".join(base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (header, claims))
    mark = hmac.digest(identity.key.as_pem(private=False), text, "sha256")
    return (text + b"." + base64.urlsafe_b64encode(mark).rstrip(b"=")).decode()


def signed_by_another_of_that_name(identity: Identity, claims: Claims) -> str:
    other = key(str(identity.key.kid), another=1)
    return jwt.encode({"alg": "RS256", "kid": identity.key.kid}, claims, other)


def cut(identity: Identity, claims: Claims) -> str:
    return signed_right(identity, claims)[:-8]


@asynccontextmanager
async def identity(redirect: str) -> AsyncIterator[Identity]:
    """The provider on a port of this machine."""
    found = Identity(redirect)
    routes = [
        Route("/.well-known/openid-configuration", found.discovery), Route("/authorize", found.authorize),
        Route("/token", found.token, methods=["POST"]), Route("/keys", found.keys), Route("/userinfo", found.info),
    ]  # fmt: skip
    async with served(Starlette(routes=routes), "127.0.0.1", 0) as address:
        found.issuer = address
        yield found
