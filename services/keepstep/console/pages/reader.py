"""What the browser tells of who reads: in which language, and in light or dark."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from keepstep.contracts.taxonomy import Language

LANGUAGE, THEME = "lang", "theme"
"""The parameters by which a reader chooses, and the ends of his cookies' names."""
YEAR_S = 365 * 24 * 3600


class Theme(StrEnum):
    """Light, dark, or what the system of the reader says."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True)
class Reader:
    """Who reads."""

    language: Language
    theme: Theme


def reader_of(request: Request) -> Reader:
    """Return what was chosen with this request, else before it, else what the browser prefers."""
    language = _chosen(request, LANGUAGE, tuple(Language)) or preferred(request.headers.get("accept-language", ""))
    theme = _chosen(request, THEME, tuple(Theme)) or Theme.AUTO
    return Reader(language=Language(language), theme=Theme(theme))


def _chosen(request: Request, name: str, allowed: tuple[str, ...]) -> str | None:
    given = (request.query_params.get(name), request.cookies.get(f"keepstep_{name}"))
    return next((value for value in given if value in allowed), None)


def preferred(accepted: str) -> Language:
    """Return the first language of an Accept-Language header that we speak; browsers write the dearest first."""
    for part in accepted.split(","):
        tag = part.split(";")[0].strip().partition("-")[0].lower()
        if tag in tuple(Language):
            return Language(tag)
    return Language.EN


def remember(request: Request, response: Response, *, under_tls: bool) -> None:
    """Keep in cookies what was chosen with this request."""
    for name, allowed in ((LANGUAGE, tuple(Language)), (THEME, tuple(Theme))):
        value = request.query_params.get(name)
        if value is not None and value in allowed:
            response.set_cookie(
                f"keepstep_{name}", value, max_age=YEAR_S, httponly=True, samesite="lax",
                secure=under_tls or request.url.scheme == "https",
            )  # fmt: skip


def here_with(request: Request, **choices: str) -> str:
    """Return the address of this page with some parameters changed; an empty one is left out."""
    kept = {name: value for name, value in request.query_params.items() if name not in choices}
    asked = urlencode(kept | {name: value for name, value in choices.items() if value})
    return "?" + asked
