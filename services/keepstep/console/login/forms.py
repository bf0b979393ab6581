"""Reads a form before a route does, within a bound, and leaves it for the route to read again."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.types import Message, Receive

from keepstep.console.bounds import MOST

FIELDS = 500
TYPE = "application/x-www-form-urlencoded"


class TooLong(Exception):
    """The form is longer than any of ours."""


async def taken(receive: Receive, *, most: int = MOST) -> bytes:
    """Return the body of a request. Raises TooLong past ``most`` bytes, ConnectionError where the browser has gone."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the browser went before it had sent its form")
        piece: bytes = message.get("body", b"")
        body += piece
        if len(body) > most:
            raise TooLong(f"a form has at most {most >> 10} KiB")
        if not message.get("more_body", False):
            return body


def given_again(body: bytes, receive: Receive) -> Receive:
    """Return what hands out a body that was read, and then what comes after it."""
    left = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


def fields(body: bytes) -> Mapping[str, str]:
    """Return the fields of a form, the last of each name; what is no form has none."""
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS))
    except ValueError:  # no UTF-8, or more fields than a form of ours has
        return {}
