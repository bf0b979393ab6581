"""Builds the web application: ``/api/v1``, the health of the process, and whatever pages and login add to it."""

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import JSONResponse, Response

from keepstep.console import acting, reading
from keepstep.console.access import Role, needs
from keepstep.console.answers import STATUS
from keepstep.console.context import Console, console_of
from keepstep.console.guard import Guard
from keepstep.console.login import routes
from keepstep.console.login.opening import Login, made_safe, put_before
from keepstep.console.pages.site import add_pages

PREFIX = "/api/v1"


def application(console: Console, *, login: Login | None = None) -> FastAPI:
    """Return the application; without a ``login`` it answers the user of this machine alone."""
    app = FastAPI(
        title="keepstep", version="1", description="What keepstep sees of a pool, and what people may order.",
        openapi_url=f"{PREFIX}/openapi.json", docs_url=None, redoc_url=None,
    )  # fmt: skip
    app.state.console = console
    api = APIRouter(prefix=PREFIX)
    api.include_router(reading.router)
    api.include_router(acting.router)
    app.include_router(api)
    add_pages(app)
    for path in ("/healthz", "/readyz"):
        app.add_api_route(path, health, include_in_schema=False)
    seen = [] if login is None else [Depends(needs(Role.VIEWER))]
    app.add_api_route("/metrics", health, include_in_schema=False, dependencies=seen)
    for error, status in STATUS.items():
        app.add_exception_handler(error, _told(status))
    if login is None:
        app.add_middleware(Guard)
    else:
        app.include_router(routes.router)
        put_before(app, login)
    made_safe(app, console.settings)
    return app


def _told(status: int):  # type: ignore[no-untyped-def]
    async def told(_request: Request, error: Exception) -> JSONResponse:
        headers = {"Retry-After": "1"} if status == 503 else None
        return JSONResponse({"detail": str(error)}, status, headers)

    return told


async def health(request: Request) -> Response:
    """Answer for the process: its services where it has some, and the console itself."""
    console = console_of(request)
    path = request.url.path
    if console.beside is not None:
        found = console.beside(path)
        return Response(found.body, int(found.status.partition(" ")[0]), media_type=found.media)
    if path == "/readyz":
        ready = console.live.caught_up
        return Response("ready\n" if ready else "reading the stream\n", 200 if ready else 503, media_type="text/plain")
    return Response("ok\n", 200, media_type="text/plain")
