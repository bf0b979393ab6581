"""Stands before every route: nobody unknown passes, no form of another site, and no stream outlives its session.

Pure ASGI, so that a stranger's request is answered before its body is read, and a route that forgot to ask who is there
is closed all the same.
"""

import asyncio
from collections.abc import Mapping
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepstep.console.audit import Audit
from keepstep.console.login.cookies import SESSION, name_of
from keepstep.console.login.forms import TYPE, TooLong, fields, given_again, taken
from keepstep.console.login.gatekeeper import Gatekeeper, Known, Stranger
from keepstep.console.login.headers import ASSETS
from keepstep.console.requested import OURS, SAFE, path_of
from keepstep.contracts.taxonomy import Entrance
from keepstep.runtime.log import logger

OPEN = frozenset({"/healthz", "/readyz", "/login", "/login/oidc", "/login/oidc/callback"})
"""What anybody may ask: whether the process is well, and to be let in."""
API, METRICS = "/api/", "/metrics"
BY_PROMETHEUS = "Prometheus shows a viewer's token by authorization.credentials_file"
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
AGAIN_S = 5.0
"""How often a stream's session is looked at: who was put out hears so long."""


class Door:
    """Middleware of a console with a login."""

    def __init__(
        self, app: ASGIApp, *, keeper: Gatekeeper, audit: Audit, under_tls: bool, look_s: float = AGAIN_S
    ) -> None:
        self._app, self._keeper, self._audit, self._under_tls, self._look_s = app, keeper, audit, under_tls, look_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request pass with who asks in its state, or answer it."""
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client = client_of(scope)
        known = await self._keeper.who(headers, session_cookie(scope, self._under_tls), client)
        if isinstance(known, Stranger):
            if known.tried:
                self._audit.refused(Entrance.HEADER, known.because, client, asked=asked_of(scope))
            await refusal(scope, headers, known)(scope, receive, send)
            return
        if known.fresh:
            self._audit.came_in(known.user, known.via, client)
        if known.session is not None and scope["method"] not in SAFE:
            try:
                receive = await self._checked(known, headers, receive)
            except _Forged as error:
                self._audit.refused(known.via, str(error), client, user=known.user, asked=asked_of(scope))
                await _told(scope, str(error), 403)(scope, receive, send)
                return
            except TooLong as error:
                await _told(scope, str(error), 413)(scope, receive, send)
                return
            except ConnectionError:
                return
        await self._pass(known, scope, receive, send)

    async def _checked(self, known: Known, headers: Headers, receive: Receive) -> Receive:
        """Return the request's body to read again; raises _Forged unless a page of this session sent it."""
        assert known.session is not None  # noqa: S101 - a token in the header is sent by nobody's page
        if headers.get("sec-fetch-site", "none") not in OURS:
            raise _Forged("a page of another site may not order anything here")
        given, again = headers.get(CSRF_HEADER), receive
        if given is None and headers.get("content-type", "").partition(";")[0].strip().lower() == TYPE:
            body = await taken(receive)
            given, again = fields(body).get(CSRF_FIELD), given_again(body, receive)
        if given is None:
            raise _Forged(
                f"the form lacks its field {CSRF_FIELD}, or the request the header {CSRF_HEADER}; load the page again"
            )
        if not self._keeper.sessions.has_csrf(known.session, given):
            raise _Forged("the form is of another session; load the page again")
        return again

    async def _pass(self, known: Known, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, and tell of it where it changes anything."""
        state = scope.setdefault("state", {})
        state["user"], state["session"] = known.user, known.session
        if known.session is not None:
            state["csrf"] = self._keeper.sessions.csrf(known.session)
        answer = _Answer(send)
        try:
            await self._app(scope, self._watching(known, receive, answer), answer.send)
        finally:
            self._tell(known, scope, answer.status)
        await answer.finish()

    def _tell(self, known: Known, scope: Scope, status: int) -> None:
        """Tell of what was asked where it changes something, or was refused over the role."""
        by, client = known.user, client_of(scope)
        if scope["method"] not in SAFE:
            logger("console").info(
                "asked", by=by.name, role=by.role, asked=asked_of(scope), status=status, client=client, via=known.via
            )
        if status == 403:
            self._audit.refused(known.via, f"{by.role} may not do this", client, user=by, asked=asked_of(scope))

    def _watching(self, known: Known, receive: Receive, answer: "_Answer") -> Receive:
        """Return a receive by which a stream learns that who listens has gone, or may not listen any more."""

        async def watched() -> Message:
            if not answer.begun:
                return await receive()
            while self._keeper.still(known):
                try:
                    async with asyncio.timeout(self._look_s):
                        return await receive()
                except TimeoutError:
                    continue
            return {"type": "http.disconnect"}

        return watched


class _Forged(Exception):
    """No page of this session sent the form."""


class _Answer:
    """What was sent back so far, so that a stream that was cut is ended as HTTP wants it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.begun = self._ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.begun = message["status"], True
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        if self.begun and not self._ended:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})


def is_open(path: str) -> bool:
    """Return whether anybody may ask for a path."""
    return path in OPEN or path.startswith(ASSETS)


def client_of(scope: Scope) -> str:
    """Return the address that asks; empty where the server tells none."""
    client = scope.get("client")
    return client[0] if client else ""


def asked_of(scope: Scope) -> str:
    """Return what is asked, in a line for people."""
    return f"{scope['method']} {path_of(scope)}"


def session_cookie(scope: Scope, under_tls: bool) -> str | None:
    """Return the value of the session's cookie; None without one."""
    return cookies_of(Headers(scope=scope)).get(name_of(SESSION, scope, under_tls=under_tls))


def cookies_of(headers: Headers) -> Mapping[str, str]:
    """Return the cookies of a request; a header that is none has none."""
    found: dict[str, str] = {}
    for part in ";".join(headers.getlist("cookie")).split(";"):
        name, equals, value = part.strip().partition("=")
        if equals:
            found.setdefault(name, value)
    return found


def refusal(scope: Scope, headers: Headers, stranger: Stranger) -> Response:
    """Return what a stranger is told: a person at a page is sent to the login, a program gets its status."""
    path, wait_s = path_of(scope), stranger.wait_s
    if wait_s > 0:
        answer = _told(scope, stranger.because, 429)
        answer.headers["Retry-After"] = str(max(1, round(wait_s)))
        return answer
    asked = f"{path}?{scope['query_string'].decode('ascii', 'replace')}" if scope["query_string"] else path
    login = f"/login?next={quote(asked, safe='')}"
    shows = scope["method"] in SAFE and "text/html" in headers.get("accept", "") and not path.startswith(API)
    if shows and not stranger.tried and "hx-request" not in headers:
        return RedirectResponse(login, 303)
    because = stranger.because
    if scope["path"] == METRICS:
        because = f"{because}; {BY_PROMETHEUS}"
    answer = _told(scope, because, 401)
    answer.headers["WWW-Authenticate"] = 'Bearer realm="keepstep"'
    if "hx-request" in headers:
        answer.headers["HX-Redirect"] = "/login"
    return answer


def _told(scope: Scope, because: str, status: int) -> Response:
    if scope["path"].startswith(API):
        return JSONResponse({"detail": because}, status)
    return PlainTextResponse(f"{because}\n", status)
