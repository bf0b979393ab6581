"""Draws the page on which people log in. It stands alone: the others show the pool, which a stranger is not shown."""

from functools import cache, partial
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from keepstep.console.login.words import told
from keepstep.console.pages.formats import visible
from keepstep.console.pages.reader import reader_of
from keepstep.core.words import reading

TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        auto_reload=False,
    )


def login_page(
    request: Request, *, csrf: str, then: str, tokens: bool, issuer: str, because: str = "", detail: str = "",
    status: int = 200,
) -> HTMLResponse:  # fmt: skip
    """Return the page; ``because`` is a sentence of ours, ``detail`` why, in words of the services or of others."""
    reader = reader_of(request)
    body = _templates().get_template("login.html").render(
        say=partial(told, language=reader.language), language=reader.language, theme=reader.theme,
        csrf=csrf, then=then, tokens=tokens, provider=urlsplit(issuer).hostname or "", because=because,
        detail=reading.told(detail, reader.language),
    )  # fmt: skip
    return HTMLResponse(body, status)
