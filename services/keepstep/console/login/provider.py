"""The OpenID provider: where it sends people to and what it says of them (authorization code flow with PKCE).

https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth, RFC 7636 and RFC 9207. Only algorithms of two keys
are taken: with HS256 whoever knows the secret of the client could write tokens, with none everybody could.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from keepstep.console.login.claims import Claims, groups_in
from keepstep.ports.errors import Permanent, Transient

ANSWER_S = 10.0
"""For the provider to answer; a person waits no longer."""
LONGEST = 1 << 20
"""Bytes of an answer; keys and claims take some kilobytes."""
FRESH_S = 3600.0
"""How long its document and keys count; an unknown key has them read again before that, once a minute at most."""
RENEW_S = 60.0
LEEWAY_S = 60
"""By which the clocks of provider and console may differ."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class Client:
    """Who we are at the provider; the secret prints as nothing, since the field is not shown."""

    issuer: str
    id: str
    secret: Callable[[], str]
    """Reads the secret, since it may be turned while we run; empty for a public client."""
    redirect: str
    scopes: tuple[str, ...]
    groups: str


@dataclass(frozen=True)
class Trip:
    """What is sent along with a person, and must come back with him."""

    state: str
    nonce: str
    verifier: str


class Provider:
    """One provider; its document and keys are read when they are first needed."""

    def __init__(self, client: Client, *, now: Callable[[], float] = time.time) -> None:
        self._client, self._now = client, now
        self._lock = asyncio.Lock()
        self._document: Mapping[str, Any] = {}
        self._keys: Mapping[str, Any] = {}
        self._read_at = float("-inf")

    async def address(self, trip: Trip) -> str:
        """Return where a person is sent to log in. Raises Transient where the provider does not answer, Permanent."""
        document = await self._known()
        asked = [
            *(("response_type", "code"), ("client_id", self._client.id), ("redirect_uri", self._client.redirect)),
            *(("scope", " ".join(self._client.scopes)), ("state", trip.state), ("nonce", trip.nonce)),
            *(("code_challenge", create_s256_code_challenge(trip.verifier)), ("code_challenge_method", "S256")),
        ]
        return str(add_params_to_uri(document["authorization_endpoint"], asked))

    async def claims(self, code: str, trip: Trip, *, issuer: str | None = None) -> Claims:
        """Return what the provider says of whom it sent back with a code. Raises Permanent, Transient.

        ``issuer`` is who says to have sent him (RFC 9207): the code of another provider is never handed on.
        """
        document = await self._known()
        promised = document.get("authorization_response_iss_parameter_supported") is True
        if (issuer is not None or promised) and issuer != self._client.issuer:
            raise Permanent(f"the answer comes from {issuer or 'nobody'}, not from {self._client.issuer}")
        answer = await self._exchanged(document, code, trip)
        claims = await self._verified(answer, trip)
        access = answer.get("access_token")
        if groups_in(claims, self._client.groups) is None and "userinfo_endpoint" in document and access:
            return await self._asked_more(document["userinfo_endpoint"], str(access), claims)
        return claims

    async def _exchanged(self, document: Mapping[str, Any], code: str, trip: Trip) -> Mapping[str, Any]:
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._client.redirect,
            "code_verifier": trip.verifier, "client_id": self._client.id,
        }  # fmt: skip
        secret, auth = self._client.secret(), None
        ways = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if secret and "client_secret_basic" in ways:
            auth = httpx.BasicAuth(self._client.id, secret)
        elif secret:
            form["client_secret"] = secret
        answer = await self._ask("POST", document["token_endpoint"], data=form, auth=auth)
        if "id_token" not in answer:
            raise Permanent("the provider gave no id_token; the scope openid is wanted")
        return answer

    async def _verified(self, answer: Mapping[str, Any], trip: Trip) -> Claims:
        """Return the claims of an ID token whose signature, issuer, audience, times, nonce and hash are right."""
        for renewed in (False, True):
            try:
                token = jwt.decode(
                    str(answer["id_token"]),
                    KeySet.import_key_set({"keys": list(self._keys.get("keys", ()))}),
                    registry=JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False),
                )
                told = CodeIDToken(
                    token.claims, token.header, {"iss": {"essential": True, "value": self._client.issuer},
                    "aud": {"essential": True, "value": self._client.id}},
                    {"nonce": trip.nonce, "client_id": self._client.id, "access_token": answer.get("access_token")},
                )  # fmt: skip
                told.validate(now=int(self._now()), leeway=LEEWAY_S)
            except InvalidKeyIdError as error:
                if renewed:
                    raise Permanent("the provider's token is signed by a key that it does not publish") from error
                await self._known(within_s=RENEW_S)
            except (JoseError, ValueError, TypeError, KeyError) as error:
                raise Permanent(f"the provider's token is refused: {error}") from error
            else:
                return dict(told)
        raise AssertionError("the loop returns or raises")

    async def _asked_more(self, endpoint: str, access: str, claims: Claims) -> Claims:
        """Return the claims with those of the userinfo endpoint; of another person they are refused."""
        more = await self._ask("GET", endpoint, headers={"Authorization": f"Bearer {access}"})
        if more.get("sub") != claims["sub"]:
            raise Permanent("the provider tells of another person than it sent")
        return {**more, **claims}

    async def _known(self, *, within_s: float = FRESH_S) -> Mapping[str, Any]:
        """Return the provider's document; it and the keys are at most so old."""
        async with self._lock:
            if time.monotonic() - self._read_at >= within_s:
                issuer = self._client.issuer
                document = await self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
                if document.get("issuer") != issuer:
                    raise Permanent(
                        f"{issuer} names itself {document.get('issuer')}; KEEPSTEP_CONSOLE_OIDC_ISSUER must be that"
                    )
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                    _checked(str(document.get(name, "")), name)
                self._keys = await self._ask("GET", document["jwks_uri"])
                self._document, self._read_at = document, time.monotonic()
        return self._document

    async def _ask(self, method: str, url: str, **about: Any) -> Mapping[str, Any]:
        """Return what the provider answers as JSON. Raises Transient where it does not, Permanent where it says no."""
        try:
            async with httpx.AsyncClient(timeout=ANSWER_S) as http, http.stream(method, url, **about) as answer:
                body = b""
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > LONGEST:
                        raise Permanent(f"the provider's answer at {url} is longer than {LONGEST >> 20} MiB")
            found = httpx.Response(answer.status_code, content=body).json() if body else {}
        except httpx.HTTPError as error:
            raise Transient(f"the provider does not answer at {url}: {type(error).__name__}") from error
        except ValueError as error:
            raise Transient(f"the provider answers {answer.status_code} at {url}, and no JSON") from error
        if answer.status_code >= 500:
            raise Transient(f"the provider answers {answer.status_code} at {url}")
        if answer.status_code != 200 or not isinstance(found, dict):
            why = found.get("error") if isinstance(found, dict) else None
            raise Permanent(f"the provider answers {answer.status_code} at {url}" + (f": {why}" if why else ""))
        return found


def _checked(url: str, name: str) -> None:
    """Raise Permanent for an address over which secrets would travel in clear."""
    found = urlsplit(url)
    if found.scheme != "https" and not (found.scheme == "http" and found.hostname in LOOPBACK):
        raise Permanent(f"the provider's {name} is {url or 'not told'}; it must be https")
