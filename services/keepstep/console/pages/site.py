"""Adds the pages and what they are drawn with to the application."""

from fastapi import FastAPI, HTTPException
from fastapi.exception_handlers import http_exception_handler
from starlette.exceptions import HTTPException as Unrouted
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from keepstep.console.pages import create, events, faults, incidents, jobs, live, nodes, overview
from keepstep.console.pages.failing import failed
from keepstep.console.pages.rendering import STATIC, templates

ROUTERS = (
    *(overview.router, jobs.router, create.router, incidents.router),
    *(faults.router, nodes.router, events.router, live.router),
)


def add_pages(app: FastAPI) -> None:
    """Add pages, their live stream and their assets."""
    templates()
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(404, nowhere)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


async def nowhere(request: Request, error: Exception) -> Response:
    """Answer for a path that leads nowhere: people with a page, programs with what they are used to."""
    told = error if isinstance(error, Unrouted) else HTTPException(404)
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return await http_exception_handler(request, told)
    return failed(request, 404, f"there is no page {request.url.path}")
