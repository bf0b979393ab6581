"""Puts the login together from what it was told, and before an application; refuses what would not be safe."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request

from keepstep.console.access import User, current_user
from keepstep.console.audit import Audit
from keepstep.console.login.attempts import Attempts
from keepstep.console.login.door import Door
from keepstep.console.login.gatekeeper import Gatekeeper
from keepstep.console.login.provider import Client, Provider
from keepstep.console.login.sessions import Sessions
from keepstep.console.login.settings import LoginSettings
from keepstep.console.login.signing import Signer
from keepstep.console.login.token_file import TokenFile
from keepstep.console.login.trips import Trips
from keepstep.ports.errors import Permanent

CALLBACK = "/login/oidc/callback"


@dataclass(frozen=True)
class Login:
    """The login of one console, wired."""

    settings: LoginSettings
    now: Callable[[], datetime]
    signer: Signer
    keeper: Gatekeeper
    provider: Provider | None
    trips: Trips = field(repr=False)

    @property
    def under_tls(self) -> bool:
        """Whether cookies travel under TLS only."""
        return self.settings.under_tls


def opened(settings: LoginSettings, now: Callable[[], datetime]) -> Login | None:
    """Return the login; None where none was asked for. Raises Permanent for what cannot work or would not be safe."""
    if not settings.has_login:
        return None
    tokens = None if settings.console_tokens is None else TokenFile(settings.console_tokens)
    if tokens is not None and not tokens.entries and not settings.console_oidc_issuer:
        raise Permanent(
            f"KEEPSTEP_CONSOLE_TOKENS {settings.console_tokens} has no line; keepstep console token NAME makes one"
        )
    signer = Signer()
    lasts = timedelta(hours=settings.console_session_hours)
    sessions = Sessions(signer, lasts, lambda: {} if tokens is None else tokens.entries)
    keeper = Gatekeeper(sessions=sessions, tokens=tokens, now=now, attempts=Attempts())
    return Login(
        settings=settings, now=now, signer=signer, keeper=keeper, provider=_provider(settings, now), trips=Trips(signer)
    )


def exposed(settings: LoginSettings, host: str) -> str | None:
    """Return why the console may not be served beyond loopback, with the remedy; None where it may."""
    if not settings.has_login:
        return (
            f"KEEPSTEP_CONSOLE_HOST {host}: without a login the console is served on loopback only; leave it out, or"
            " name a file of tokens in KEEPSTEP_CONSOLE_TOKENS (keepstep console token NAME makes a line for it), or a"
            " provider in KEEPSTEP_CONSOLE_OIDC_ISSUER"
        )
    if not settings.console_url:
        return (
            f"KEEPSTEP_CONSOLE_HOST {host}: say in KEEPSTEP_CONSOLE_URL which address people use, https://... where a"
            " proxy speaks TLS, or http://... where tokens may travel in clear"
        )
    return None


def _provider(settings: LoginSettings, now: Callable[[], datetime]) -> Provider | None:
    if not settings.console_oidc_issuer:
        return None
    if not settings.console_url:
        raise Permanent("KEEPSTEP_CONSOLE_URL: say which address people use; the provider sends them back there")
    if not settings.console_oidc_roles:
        raise Permanent('KEEPSTEP_CONSOLE_OIDC_ROLES: say which group has which role, as {"ml-ops": "operator"}')
    if "openid" not in settings.console_oidc_scopes:
        raise Permanent("KEEPSTEP_CONSOLE_OIDC_SCOPES lacks openid, without which a provider says nothing of anybody")
    _secret(settings.console_oidc_secret)
    client = Client(
        issuer=settings.console_oidc_issuer,
        id=settings.console_oidc_client,
        secret=lambda: _secret(settings.console_oidc_secret),
        redirect=settings.console_url.rstrip("/") + CALLBACK,
        scopes=settings.console_oidc_scopes,
        groups=settings.console_oidc_groups,
    )
    return Provider(client, now=lambda: now().timestamp())


def _secret(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Permanent(f"KEEPSTEP_CONSOLE_OIDC_SECRET {path} cannot be read: {error.strerror}") from error


def login_of(request: Request) -> Login:
    """Return the login of the console that was asked."""
    found: Login = request.app.state.login
    return found


async def whoever_passed(request: Request) -> User:
    """Return whom the door let in; without it nobody is."""
    found: User | None = getattr(request.state, "user", None)
    if found is None:
        raise HTTPException(401, "log in first")
    return found


def put_before(app: FastAPI, login: Login, audit: Audit) -> None:
    """Put the login before every route of an application that is there or comes later."""
    app.state.login = login
    app.dependency_overrides[current_user] = whoever_passed
    app.add_middleware(Door, keeper=login.keeper, audit=audit, under_tls=login.under_tls)
