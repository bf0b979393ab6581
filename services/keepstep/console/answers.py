"""How what could not be done is answered: the reason is the answer, and never more than whoever asked may know."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from keepstep.asking.refused import Refused
from keepstep.console.desk import Conflicting, Unknown
from keepstep.ports.errors import Permanent, Transient

STATUS: dict[type[Exception], int] = {Unknown: 404, Conflicting: 409, Refused: 422, Transient: 503, Permanent: 422}
"""Of an order that was not given: one table for API and pages."""
DESCRIBED: dict[int | str, dict[str, Any]] = {
    401: {"description": "Nobody is known by the token or session, or none was shown."},
    403: {"description": "The role is too low, or a page of another site asks."},
    404: {"description": "There is no such thing."},
    409: {"description": "It makes no sense as things stand."},
    413: {"description": "The request is too long."},
    415: {"description": "A body came without the header Content-Type: application/json."},
    429: {"description": "Too many queries, orders, streams or wrong tokens; Retry-After says when."},
    503: {"description": "The bus is away; Retry-After says when."},
}
"""What every route may answer beside what it is for."""
BROKEN = "something went wrong here, and the console's log says what"
API, JSON = "/api/", "application/json"
SAID = ("type", "loc", "msg")
"""Of a mistake in a request; what was given may be a secret, and need not be anything that JSON can hold."""


class Plain(JSONResponse):
    """JSON of ASCII: a body may name fields by half a character, which no other text can repeat."""

    def render(self, content: Any) -> bytes:
        """Return the content as bytes."""
        return json.dumps(content, separators=(",", ":")).encode()


def told_with(app: FastAPI) -> None:
    """Have an application answer for what could not be done, for what was garbled, and for a bug of ours."""
    for error, status in STATUS.items():
        app.add_exception_handler(error, _of(status))
    app.add_exception_handler(RequestValidationError, _garbled)
    app.add_exception_handler(Exception, _broken)


def _of(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def told(_request: Request, error: Exception) -> Response:
        return Plain({"detail": str(error)}, status, {"Retry-After": "1"} if status == 503 else None)

    return told


async def _garbled(request: Request, error: Exception) -> Response:
    if request.url.path.startswith(API) and (why := _untold(request.headers)):
        return Plain({"detail": why}, 415)
    mistakes = error.errors() if isinstance(error, RequestValidationError) else ()
    return Plain({"detail": [{name: one[name] for name in SAID} for one in mistakes]}, 422)


def _untold(headers: Headers) -> str:
    """Return what is wrong with how a body says what it is; "" where there is none, or it says that it is JSON."""
    if headers.get("content-length", "") == "0" or not {"content-length", "transfer-encoding"} & {*headers}:
        return ""
    told = headers.get("content-type", "")
    kind = told.partition(";")[0].strip().lower()
    if kind == JSON or (kind.startswith("application/") and kind.endswith("+json")):
        return ""
    what = f"is {ascii(told)[1:-1][:80]}" if told else "is missing"
    return f"the header Content-Type {what}; send JSON with the header Content-Type: {JSON}"


async def _broken(request: Request, _error: Exception) -> Response:
    """Answer for a bug; whoever serves the application is still told of it, with its traceback."""
    if request.url.path.startswith(API):
        return Plain({"detail": BROKEN}, 500)
    return PlainTextResponse(f"{BROKEN}\n", 500)
