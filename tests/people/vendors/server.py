"""A real HTTP server that stands for a vendor: checks as the vendor does, or answers as it is told."""

import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, str], object]
"""Status, headers, and a body: text as it is, anything else as JSON."""


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    raw_query: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Vendor:
    """Base of the fakes; ``forced`` answers come before those of its own checks."""

    def __init__(self) -> None:
        self.forced: deque[Answer] = deque()
        self.asked: list[Asked] = []
        self.taken: list[Asked] = []
        """Requests that were answered with success by the vendor's own rules."""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def judge(self, asked: Asked) -> Answer:
        """Answer by the vendor's rules."""
        raise NotImplementedError

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        vendor = self

        class Answering(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = Asked(self.command, parts.path, query, parts.query, dict(self.headers), body)
                vendor.asked.append(asked)
                status, headers, said = vendor.forced.popleft() if vendor.forced else vendor.judge(asked)
                raw = said.encode() if isinstance(said, str) else json.dumps(said).encode()
                self.send_response(status)
                for name, value in (headers | {"Content-Length": str(len(raw))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)

            do_GET = _answer  # noqa: N815 - the base class names them
            do_POST = _answer  # noqa: N815
            do_PUT = _answer  # noqa: N815
            do_PATCH = _answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
                """Keep quiet."""

        return Answering


V = TypeVar("V", bound=Vendor)


@contextmanager
def running(vendor: V) -> Iterator[V]:
    """Stop the server when the test is over."""
    try:
        yield vendor
    finally:
        vendor.stop()


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """Return the HMAC as RFC 2104 writes it: nothing of the code under test is in it."""
    block = hashlib.sha256(key).digest() if len(key) > 64 else key
    block = block.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(one ^ 0x36 for one in block) + message).digest()
    return hashlib.sha256(bytes(one ^ 0x5C for one in block) + inner).digest()
