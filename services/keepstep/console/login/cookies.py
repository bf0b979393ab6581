"""The cookies of the login: never for scripts, never with another site's form, under TLS only where there is TLS."""

from datetime import timedelta

from starlette.responses import Response
from starlette.types import Scope

SESSION, ASKING, WAITING = "keepstep_session", "keepstep_login", "keepstep_oidc"
"""Who is in; which browser was shown the login; which browser was sent to the provider."""
HOST = "__Host-"
"""Browsers take a cookie of such a name only from this very host, under TLS and for all paths."""


def is_secure(scope: Scope, *, under_tls: bool) -> bool:
    """Return whether this browser reaches us under TLS."""
    return under_tls or scope.get("scheme") == "https"


def name_of(cookie: str, scope: Scope, *, under_tls: bool) -> str:
    """Return the name that a cookie has for this browser."""
    return f"{HOST}{cookie}" if is_secure(scope, under_tls=under_tls) else cookie


def put(response: Response, cookie: str, value: str, lasts: timedelta, scope: Scope, *, under_tls: bool) -> None:
    """Give the browser a cookie. Lax: who follows a link from a chat is in, another site's form is not."""
    response.set_cookie(
        name_of(cookie, scope, under_tls=under_tls), value, max_age=int(lasts.total_seconds()), path="/",
        secure=is_secure(scope, under_tls=under_tls), httponly=True, samesite="lax",
    )  # fmt: skip


def take(response: Response, cookie: str, scope: Scope, *, under_tls: bool) -> None:
    """Have the browser forget a cookie."""
    response.delete_cookie(
        name_of(cookie, scope, under_tls=under_tls), path="/", secure=is_secure(scope, under_tls=under_tls),
        httponly=True, samesite="lax",
    )  # fmt: skip
