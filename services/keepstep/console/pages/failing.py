"""What a page answers when something is not there, not allowed or not possible: a page that says so in plain words."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from keepstep.asking.refused import Refused
from keepstep.console.access import User
from keepstep.console.answers import STATUS
from keepstep.console.desk import Conflicting, Unknown
from keepstep.console.pages.rendering import page
from keepstep.contracts.taxonomy import Role
from keepstep.ports.errors import Permanent, Transient

NOBODY = User(name="", role=Role.VIEWER)
"""For whom a page is drawn that says that something failed: who asks may not be known yet, and it offers nothing."""
ASKED_TO_LOG_IN = 401


class PageRoute(APIRoute):
    """A route whose errors are pages; being sent to a login is left to the login."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handler = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handler(request)
            except HTTPException as error:
                if error.status_code <= ASKED_TO_LOG_IN and error.status_code != 400:
                    raise
                return failed(request, error.status_code, str(error.detail))
            except RequestValidationError as error:
                return failed(request, 422, "; ".join(_field(one) for one in error.errors()))
            except (Unknown, Conflicting, Refused, Transient, Permanent) as error:
                return failed(request, status_of(error), str(error))

        return answered


def status_of(error: Exception) -> int:
    """Return how an order that was not given is answered."""
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def _field(mistake: dict[str, Any]) -> str:
    return f"{mistake['loc'][-1]}: {mistake['msg']}"


def failed(request: Request, status: int, because: str) -> Response:
    """Return a page that says why there is no other."""
    return page(request, NOBODY, "failed.html", status=status, because=because, code=status)


def router() -> APIRouter:
    """Return a router for pages: not of the API, and with errors for people."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)
