"""Headers of every answer: a page runs only our scripts, stands in nobody's frame and tells nobody of itself."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURE = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # no-referrer would make browsers hide the origin of our own forms as well
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
KEPT_BY_NOBODY = "no-store"
ASSETS = "/static/"
HSTS = "max-age=31536000"
"""A year, of this host alone; said under TLS only, elsewhere browsers do not hear it."""


class SecureHeaders:
    """Middleware that adds them; what a route says itself stays."""

    def __init__(self, app: ASGIApp, *, under_tls: bool = False) -> None:
        self._app, self._under_tls = app, under_tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer back with the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        tls = self._under_tls or scope.get("scheme") == "https"

        async def out(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURE.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith(ASSETS):
                    headers.setdefault("Cache-Control", KEPT_BY_NOBODY)
                if tls:
                    headers.setdefault("Strict-Transport-Security", HSTS)
            await send(message)

        await self._app(scope, receive, out)
