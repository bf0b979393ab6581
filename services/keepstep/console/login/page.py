"""Draws the page on which people log in. It stands alone: the others show the pool, which a stranger is not shown."""

from functools import cache, partial
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from keepstep.console.login.words import told
from keepstep.contracts.taxonomy import Language

TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )


def login_page(
    request: Request, *, csrf: str, then: str, tokens: bool, issuer: str, because: str = "", detail: str = "",
    status: int = 200,
) -> HTMLResponse:  # fmt: skip
    """Return the page; ``because`` is a sentence of ours, ``detail`` what somebody else said."""
    language = language_of(request)
    theme = request.cookies.get("keepstep_theme", "")
    body = _templates().get_template("login.html").render(
        say=partial(told, language=language), language=language, theme=theme if theme in ("light", "dark") else "auto",
        csrf=csrf, then=then, tokens=tokens, provider=urlsplit(issuer).hostname or "", because=because, detail=detail,
    )  # fmt: skip
    return HTMLResponse(body, status)


def language_of(request: Request) -> Language:
    """Return the language that was chosen on another page, else the first of the browser's that we speak."""
    chosen = request.cookies.get("keepstep_lang", "")
    accepted = [
        part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")
    ]
    return next((Language(one) for one in (chosen, *accepted) if one in tuple(Language)), Language.EN)
