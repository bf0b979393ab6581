"""Where people log in and out."""

import re
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from keepstep.asking.refused import Refused
from keepstep.console.access import User, needs
from keepstep.console.audit import Audit
from keepstep.console.context import console_of
from keepstep.console.login import words
from keepstep.console.login.claims import user_of
from keepstep.console.login.cookies import ASKING, SESSION, WAITING, name_of, put, take
from keepstep.console.login.door import client_of, session_cookie
from keepstep.console.login.forms import TooLong, fields, taken
from keepstep.console.login.gatekeeper import Stranger
from keepstep.console.login.opening import Login, login_of
from keepstep.console.login.page import login_page
from keepstep.console.login.sessions import Session
from keepstep.console.login.tokens import Entry
from keepstep.console.login.trips import LASTS, Waiting
from keepstep.contracts.taxonomy import Entrance, Role
from keepstep.ports.errors import KeepstepError, Transient

router = APIRouter(include_in_schema=False)
Here = Annotated[Login, Depends(login_of)]
FORM = "login"
LONGEST_FORM = 8192
LONGEST_PATH = 2000
ASKED = re.compile(r"[A-Za-z0-9_-]{22}")


@router.get("/login")
async def show(request: Request, here: Here) -> Response:
    """Show how to log in."""
    return _page(request, here, then=path_of(request.query_params.get("next")))


@router.post("/login")
async def with_token(request: Request, here: Here) -> Response:
    """Let in whoever has a token."""
    try:
        given = fields(await taken(request.receive, most=LONGEST_FORM))
    except (TooLong, ConnectionError):
        return Response(status_code=413)
    then, asking = path_of(given.get("next")), request.cookies.get(_name(request, here, ASKING), "")
    if not asking or not here.signer.marked(FORM, asking, given.get("csrf", "")):
        return _page(request, here, then=then, because=words.STALE, status=403)
    found = await here.keeper.token(given.get("token", "").strip(), client_of(request.scope))
    if isinstance(found, Stranger):
        _audit(request).refused(Entrance.TOKEN, found.because, client_of(request.scope))
        return _not_in(request, here, found, then)
    _audit(request).came_in(found.user, Entrance.TOKEN, client_of(request.scope))
    return _in(request, here, found.user, then, entry=found.entry)


@router.post("/logout")
async def out(request: Request, here: Here, user: Annotated[User, Depends(needs(Role.VIEWER))]) -> Response:
    """End this session: a copy of its cookie counts no more."""
    session: Session | None = request.state.session
    if session is not None:
        here.keeper.sessions.end(session, here.now())
        _audit(request).went(user, client_of(request.scope))
    answer = RedirectResponse("/login", 303)
    take(answer, SESSION, request.scope, under_tls=here.under_tls)
    return answer


@router.get("/login/oidc")
async def leave(request: Request, here: Here) -> Response:
    """Send somebody to the provider."""
    then = path_of(request.query_params.get("next"))
    if here.provider is None:
        return RedirectResponse("/login", 303)
    waiting = here.trips.begin(then, here.now())
    try:
        answer: Response = RedirectResponse(await here.provider.address(waiting.trip), 303)
    except KeepstepError as error:
        return _refused(request, here, error, then)
    put(answer, WAITING, here.trips.cookie(waiting), LASTS, request.scope, under_tls=here.under_tls)
    return answer


@router.get("/login/oidc/callback")
async def back(request: Request, here: Here) -> Response:
    """Let in whom the provider sends back, if his browser is the one that left and his groups have a role."""
    asked = request.query_params
    waiting = here.trips.back(request.cookies.get(_name(request, here, WAITING)), asked.get("state"), here.now())
    if here.provider is None or waiting is None:
        return _page(request, here, then="/", because=words.LOST, status=400)
    attempts, client = here.keeper.attempts, client_of(request.scope)
    wait_s = attempts.begin(client, here.keeper.monotonic())
    if wait_s > 0:
        _audit(request).refused(Entrance.OIDC, "too many attempts from this address", client)
        return _not_in(request, here, Stranger("", wait_s), waiting.then)
    try:
        user = await _told(here, asked.get("code"), asked.get("error"), waiting, asked.get("iss"))
    except (KeepstepError, Refused) as error:
        answer = _refused(request, here, error, waiting.then)
    else:
        attempts.right(client)
        _audit(request).came_in(user, Entrance.OIDC, client)
        answer = _in(request, here, user, waiting.then)
    take(answer, WAITING, request.scope, under_tls=here.under_tls)
    return answer


async def _told(here: Login, code: str | None, error: str | None, waiting: Waiting, issuer: str | None) -> User:
    """Return who it is. Raises Refused, Transient."""
    assert here.provider is not None  # noqa: S101 - the caller looked
    if error is not None or not code:
        raise Refused((error or "it sent no code")[:100])
    claims = await here.provider.claims(code, waiting.trip, issuer=issuer)
    told = here.settings
    user = user_of(
        claims, name_claim=told.console_oidc_name, groups_claim=told.console_oidc_groups, roles=told.console_oidc_roles
    )
    if here.keeper.tokens is not None and user.name in here.keeper.tokens.entries:
        raise Refused(
            f"{user.name} is the name of a token here too: orders would not tell whose they are; rename the token"
        )
    return user


def _in(request: Request, here: Login, user: User, then: str, *, entry: Entry | None = None) -> Response:
    """Begin a session, always a new one: nobody can have known its id before. One that this browser had is over."""
    sessions = here.keeper.sessions
    former = sessions.read(session_cookie(request.scope, here.under_tls) or "", here.now())
    if former is not None:
        sessions.end(former, here.now())
    session = sessions.begin(user, here.now(), entry=entry)
    answer = RedirectResponse(then, 303)
    put(answer, SESSION, sessions.cookie(session), session.until - here.now(), request.scope, under_tls=here.under_tls)
    take(answer, ASKING, request.scope, under_tls=here.under_tls)
    return answer


def _not_in(request: Request, here: Login, stranger: Stranger, then: str) -> Response:
    if stranger.wait_s <= 0:
        return _page(request, here, then=then, because=words.WRONG, status=401)
    answer = _page(request, here, then=then, because=words.SLOW, status=429)
    answer.headers["Retry-After"] = str(max(1, round(stranger.wait_s)))
    return answer


def _refused(request: Request, here: Login, error: Exception, then: str) -> Response:
    """Say why nobody came in: what concerns the person he reads, what concerns the installation stands in the log."""
    _audit(request).refused(Entrance.OIDC, str(error), client_of(request.scope))
    if isinstance(error, Refused):
        return _page(request, here, then=then, because=words.NOT_LET_IN, detail=str(error), status=403)
    status = 503 if isinstance(error, Transient) else 502
    return _page(request, here, then=then, because=words.TROUBLE, status=status)


def _page(
    request: Request, here: Login, *, then: str, because: str = "", detail: str = "", status: int = 200
) -> Response:
    """Return the login with what its form must hand back: the mark of a cookie that another site cannot set."""
    known = request.cookies.get(_name(request, here, ASKING), "")
    asking = known if ASKED.fullmatch(known) else secrets.token_urlsafe(16)  # the same for all tabs of a browser
    answer = login_page(
        request, csrf=here.signer.mark(FORM, asking), then=then, tokens=here.keeper.tokens is not None,
        issuer=here.settings.console_oidc_issuer, because=because, detail=detail, status=status,
    )  # fmt: skip
    put(answer, ASKING, asking, LASTS, request.scope, under_tls=here.under_tls)
    return answer


def path_of(asked: str | None) -> str:
    """Return a page of ours to go to: a path, and nothing that a browser reads as another host."""
    path = asked or "/"
    plain = path.isascii() and path.isprintable() and "\\" not in path and len(path) <= LONGEST_PATH
    ours = path.startswith("/") and not path.startswith(("//", "/login", "/logout"))
    return path if plain and ours else "/"


def _audit(request: Request) -> Audit:
    return console_of(request).audit


def _name(request: Request, here: Login, cookie: str) -> str:
    return name_of(cookie, request.scope, under_tls=here.under_tls)
