"""Secrets of channels: read where they are used, and hidden in whatever is said afterwards."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

import httpx
from pydantic import SecretStr

from keepstep.contracts.channel_kinds import Gateway
from keepstep.contracts.channel_parts import Addressed
from keepstep.core.masking import HIDDEN, masked
from keepstep.ports.errors import Permanent, Transient

SHORTEST = 4
"""Characters: what is shorter is no secret, and hiding it would tear words apart."""
LARGEST = 64 * 1024


def revealed(value: SecretStr | None, file: Path | None) -> str:
    """Return the secret as text, empty where there is none.

    Raises Transient for a file that cannot be read now (Secrets are mounted late), Permanent for one that holds none.
    """
    if value is not None:
        return value.get_secret_value().strip()
    if file is None:
        return ""
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST)
    except OSError as error:
        fault = error.strerror
    else:
        return _text(raw, file)
    raise Transient(f"{file} cannot be read: {fault}; mount the Secret there")


def _text(raw: bytes, file: Path) -> str:
    text = raw.decode("utf-8", "replace").strip()
    if not text or "\ufffd" in text or any(ord(one) < 32 for one in text):
        raise Permanent(f"{file} holds no secret in one line of UTF-8: write it anew")
    return text


def address_of(channel: Addressed | Gateway) -> httpx.URL:
    """Return the address that the channel calls, read now. Raises as ``revealed`` and ``address`` do."""
    return address(revealed(channel.url, channel.url_file), of=f"url of {channel.name}")


def address(text: str, *, of: str) -> httpx.URL:
    """Return the address as an http(s) URL; raises Permanent, which shows nothing of it but the host."""
    try:
        url = httpx.URL(text)
        whole = url.scheme in {"http", "https"} and bool(url.host) and urlsplit(text).port != 0
    except (httpx.InvalidURL, ValueError):
        whole = False
    if not whole:
        raise Permanent(f"{masked(text)} is no http(s) address: correct the {of}")
    return url


class Mask:
    """Hides secrets in any text, as they are and as they look in an address or in JSON."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """``secrets``: addresses count as a whole and by each part that can be one."""
        known = {form for secret in secrets for part in _parts(secret) for form in _forms(part)}
        self._known = sorted((one for one in known if len(one) >= SHORTEST), key=len, reverse=True)

    def hide(self, text: str) -> str:
        """Return the text with ``***`` in the place of every secret."""
        for secret in self._known:
            text = text.replace(secret, HIDDEN)
        return text


def _parts(secret: str) -> Iterable[str]:
    yield secret
    if "://" not in secret:
        return
    try:
        parts = urlsplit(secret)
        user, password = parts.username, parts.password
    except ValueError:
        return
    yield from (one for one in (user, password) if one)
    yield parts.path.lstrip("/")
    yield from (one for one in parts.path.split("/") if len(one) > len("robot/send"))
    yield from (value for _, value in parse_qsl(parts.query))
    yield parts.query


def _forms(part: str) -> Iterable[str]:
    yield part
    yield unquote(part)
    yield quote(part, safe="")
    yield quote_plus(part)
    yield part.replace("/", "\\/")
