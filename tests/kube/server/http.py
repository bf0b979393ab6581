"""The HTTP face of the store: an ASGI application that answers as kube-apiserver does."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from . import discovery, errors
from .access import Access, Ask, User
from .asked import Asked
from .errors import ApiError
from .garbage import GarbageCollector
from .kinds import KINDS, Kind
from .listing import PARTIAL, Lists, metadata_of
from .mutating import Mutators
from .objects import Obj
from .options import version_of, whole_number
from .reviews import Reviews
from .routes import Routes, Target
from .store import Store
from .verbs import Answer, Verbs
from .watching import Watches

_OPEN_PATHS = frozenset({"/version", "/readyz", "/livez", "/healthz"})
_WATCH_SECONDS = 1800.0
_REMEMBERED = 100_000


@dataclass(frozen=True)
class Call:
    """A request as the log keeps it; ``verb`` in the words of RBAC."""

    verb: str
    resource: str
    group: str
    namespace: str | None
    name: str
    user: str
    query: str
    code: int


class ApiServer:
    """Serves a store. ``refuse`` may answer any request with an error of the test's choice (429, 503, 401)."""

    def __init__(
        self,
        store: Store,
        *,
        served: Iterable[Kind] = KINDS,
        rbac: bool = False,
        bookmark_seconds: float = 60.0,
        collects: bool = True,
    ) -> None:
        self.store = store
        self.routes = Routes(served)
        self.access = Access(store, enforced=rbac)
        self.reviews = Reviews(store, self.access)
        self.lists = Lists(store)
        self.watches = Watches(store, bookmark_seconds=bookmark_seconds)
        self.mutators = Mutators(store)
        self.verbs = Verbs(store, self.lists, self.mutators)
        self.calls: deque[Call] = deque(maxlen=_REMEMBERED)
        self.refuse: Callable[[Ask], ApiError | None] = lambda _: None
        self.unavailable = False
        self._collector = GarbageCollector(store) if collects else None
        self._settling = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        with suppress(ClientDisconnect):  # also in the middle of its body
            try:
                response = await self._answer(request)
            except ApiError as refused:
                response = answered(refused)
            await response(scope, receive, send)
        self._settle()

    def fail(self) -> None:
        """Answer 503 from now on and end the watches, as an API server that lost its store."""
        self.unavailable = True
        self.watches.close_all()

    def recover(self) -> None:
        """Answer again."""
        self.unavailable = False

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if self.unavailable:
            raise errors.unavailable()
        user = self.access.user(request.headers.get("authorization"))
        if path in _OPEN_PATHS:
            return _json(discovery.VERSION) if path == "/version" else PlainTextResponse("ok")
        if path.endswith("reviews") and request.method == "POST":
            reviewed = self.reviews.answer(path, user, orjson.loads(await request.body()))
            if reviewed is not None:
                return _json(reviewed, 201)
        target = self.routes.read(path)
        if target is None:
            found = discovery.answer(path, self.routes.served)
            if found is None:
                raise errors.no_such_path()
            return _json(found)
        ask = _ask(request, target)
        code = 500
        try:
            if (refusal := self.refuse(ask)) is not None:
                raise refusal
            self.access.check(user, ask)
            response = await self._serve(request, Asked(target, user, dict(request.query_params)), ask.verb)
            code = response.status_code
        except ApiError as refused:
            code = refused.code
            raise
        finally:
            self._log(request, user, ask, code)
        return response

    async def _serve(self, request: Request, asked: Asked, verb: str) -> Response:
        match verb:
            case "watch":
                return self._watch(asked)
            case "list":
                page = self.lists.page(asked.target, asked.query)
                return _json(metadata_of(page) if PARTIAL in request.headers.get("accept", "") else page)
            case "get" if asked.target.subresource == "log":
                return PlainTextResponse(self.verbs.log(asked))
            case "get":
                return _json(self.store.peek(asked.target.kind, asked.target.name, asked.target.within))
        media = request.headers.get("content-type", "application/json").partition(";")[0].strip()
        if verb in {"update", "patch"} and not asked.target.name:
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        agent = request.headers.get("user-agent", "")
        asked = replace(asked, body=await request.body(), media=media, agent=agent)
        code, answer, warnings = await _WRITES[verb](self.verbs, asked)
        response = _json(answer, code)
        for warning in warnings:
            response.headers.append("Warning", f"299 - {orjson.dumps(warning).decode()}")
        return response

    def _watch(self, asked: Asked) -> Response:
        version_of(asked.query)
        seconds = float(whole_number(asked.query, "timeoutSeconds")) or _WATCH_SECONDS
        lines = self.watches.lines(asked.target, asked.query, seconds)
        return StreamingResponse(_until_gone(lines), media_type="application/json")

    def _log(self, request: Request, user: User, ask: Ask, code: int) -> None:
        query = request.url.query
        self.calls.append(Call(ask.verb, ask.resource, ask.group, ask.namespace, ask.name, user.name, query, code))

    def _settle(self) -> None:
        """Let the garbage collector act soon after each write, once the answer is out."""
        if self._collector is not None and not self._settling:
            self._settling = True
            asyncio.get_running_loop().call_soon(self._collect)

    def _collect(self) -> None:
        self._settling = False
        if self._collector is not None:
            self._collector.collect()


_WRITES: Mapping[str, Callable[[Verbs, Asked], Awaitable[Answer]]] = {
    "create": Verbs.create,
    "update": Verbs.update,
    "patch": Verbs.patch,
    "delete": Verbs.delete,
    "deletecollection": Verbs.delete_collection,
}


async def _until_gone(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for line in lines:
        yield line


def _ask(request: Request, target: Target) -> Ask:
    single = bool(target.name)
    watch = request.query_params.get("watch") in {"true", "1"}
    match request.method:
        case "GET":
            verb = "watch" if watch else "get" if single else "list"
        case "POST":
            verb = "create"
        case "PUT":
            verb = "update"
        case "PATCH":
            verb = "patch"
        case "DELETE":
            verb = "delete" if single else "deletecollection"
        case other:
            raise ApiError(405, "MethodNotAllowed", f"the server does not allow this method: {other}", {})
    namespace = target.namespace if target.kind.namespaced else None
    return Ask(verb, target.kind.group, target.resource, namespace, target.name)


def _json(body: Obj, code: int = 200) -> Response:
    return Response(orjson.dumps(body), code, media_type="application/json")


def answered(refused: ApiError) -> Response:
    """Return a refusal as it goes over the wire."""
    headers = {"Retry-After": str(refused.retry_after)} if refused.retry_after else {}
    if refused.plain:
        return PlainTextResponse(f"{refused.message}\n", refused.code, headers)
    return Response(orjson.dumps(refused.status), refused.code, headers, media_type="application/json")
