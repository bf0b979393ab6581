"""Builds the web application: ``/api/v1``, the health of the process, and whatever pages and login add to it."""

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp

from keepstep.console import acting, reading
from keepstep.console.access import needs
from keepstep.console.answers import DESCRIBED, told_with
from keepstep.console.bounds import Bounded
from keepstep.console.context import Console, console_of
from keepstep.console.guard import Guard
from keepstep.console.login import routes
from keepstep.console.login.forwarded import Forwarded
from keepstep.console.login.headers import SecureHeaders
from keepstep.console.login.opening import Login, put_before
from keepstep.console.login.settings import LoginSettings
from keepstep.console.pages.site import add_pages
from keepstep.contracts.taxonomy import Role

PREFIX = "/api/v1"
UNCOUNTED = "the console counts nothing of its own; ask each service, port 8080\n"


class Application(FastAPI):
    """An application whose every answer has the secure headers, that to a bug of ours included.

    What is added as a middleware stands behind the one that answers for bugs.
    """

    def __init__(self, settings: LoginSettings) -> None:
        super().__init__(
            title="keepstep", version="1", description="What keepstep sees of a pool, and what people may order.",
            openapi_url=f"{PREFIX}/openapi.json", docs_url=None, redoc_url=None,
        )  # fmt: skip
        self._settings = settings

    def build_middleware_stack(self) -> ASGIApp:
        """Return what is asked first: who really asks, as all others want to know, then the headers."""
        safe = SecureHeaders(super().build_middleware_stack(), under_tls=self._settings.under_tls)
        return Forwarded(safe, proxies=self._settings.console_proxies)


def application(console: Console, *, login: Login | None = None) -> FastAPI:
    """Return the application; without a ``login`` it answers the user of this machine alone."""
    app = Application(console.settings)
    app.state.console = console
    api = APIRouter(prefix=PREFIX, responses=DESCRIBED)
    api.include_router(reading.router)
    api.include_router(acting.router)
    app.include_router(api)
    add_pages(app)
    for path in ("/healthz", "/readyz"):
        app.add_api_route(path, health, include_in_schema=False)
    seen = [] if login is None else [Depends(needs(Role.VIEWER))]
    app.add_api_route("/metrics", health, include_in_schema=False, dependencies=seen)
    told_with(app)
    app.add_middleware(Bounded, reports=f"{PREFIX}/public-faults")
    if login is None:
        app.add_middleware(Guard, audit=console.audit)
    else:
        app.include_router(routes.router)
        put_before(app, login, console.audit)
    return app


async def health(request: Request) -> Response:
    """Answer for the process: its services where it has some, and the console itself."""
    console = console_of(request)
    path = request.url.path
    if console.beside is not None:
        found = console.beside(path)
        return Response(found.body, int(found.status.partition(" ")[0]), media_type=found.media)
    if path == "/metrics":
        return Response(UNCOUNTED, 404, media_type="text/plain")
    if path == "/readyz":
        ready = console.live.caught_up
        return Response("ready\n" if ready else "reading the stream\n", 200 if ready else 503, media_type="text/plain")
    return Response("ok\n", 200, media_type="text/plain")
