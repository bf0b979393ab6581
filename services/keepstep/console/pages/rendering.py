"""Makes pages of templates: every value is escaped, and no page runs or shows what is not ours."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from keepstep.console.access import User
from keepstep.console.context import Console, console_of
from keepstep.console.pages import formats
from keepstep.console.pages.live import Follow
from keepstep.console.pages.reader import LANGUAGE, THEME, Reader, Theme, here_with, reader_of, remember
from keepstep.console.pages.words import speaking
from keepstep.console.requested import path_of
from keepstep.contracts.taxonomy import Language, Role
from keepstep.core.node_standing import NodeState

ROOM = Path(__file__).parents[1]
TEMPLATES, STATIC = ROOM / "templates", ROOM / "static"


@cache
def templates() -> Environment:
    """Return the templates, each compiled once."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=formats.visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters |= {
        "duration": formats.duration,
        "share": formats.share,
        "number": formats.number,
        "instant": _instant,
        "segment": formats.segment,
        "clip": formats.clipped,
        "zipped": formats.zipped,
    }
    found.globals["version"] = _version()
    return found


@pass_context
def _instant(context: Context, at: datetime | None, *, fine: bool = False) -> Markup | str:
    return formats.instant(at, context["language"], fine=fine)


def _version() -> str:
    """Return what changes when an asset changes, so that browsers ask for it anew."""
    digest = sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def page(
    request: Request, user: User, template: str, *, follow: Follow | None = None, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page; ``follow`` says which news it has itself asked for again."""
    reader, here = reader_of(request), console_of(request)
    common = _common(request, reader, user, here)
    common["live"] = "" if follow is None else follow.address(here.board.model.recent.last)
    body = templates().get_template(template).render(**common, **values)
    response = HTMLResponse(body, status)
    remember(request, response, under_tls=here.settings.under_tls)
    return response


def _common(request: Request, reader: Reader, user: User, here: Console) -> dict[str, Any]:
    path, asked = path_of(request.scope), here_with(request, done="")
    return {
        **speaking(reader.language),
        "language": reader.language,
        "comma": "、" if reader.language is Language.ZH else ", ",
        "other_language": here_with(request, **{LANGUAGE: Language.EN if reader.language == "zh" else Language.ZH}),
        "theme": reader.theme,
        "themes": [(theme, here_with(request, **{THEME: theme})) for theme in Theme],
        "path": path,
        "address": path + asked.rstrip("?"),
        "user": user,
        "acts": user.role.allows(Role.OPERATOR),
        "rules": user.role.allows(Role.ADMIN),
        "csrf": csrf_field(request),
        "now": here.now(),
        "standing": standing(here),
    }


def csrf_field(request: Request) -> Markup:
    """Return the hidden field that a form hands back to the login; empty where none asks for it."""
    token: str | None = getattr(request.state, "csrf", None)
    return Markup("") if token is None else Markup('<input type="hidden" name="csrf" value="{}">').format(token)


def standing(here: Console) -> Mapping[str, Any]:
    """Return what the line atop every page says of the pool."""
    model = here.board.model
    return {
        "pool": model.pool,
        "open": len(model.incidents.open),
        "isolated": model.nodes.count(NodeState.ISOLATED),
        "lost": model.nodes.count(NodeState.LOST),
        "paused": model.paused,
        "blind": model.blind,
        "caught_up": here.live.caught_up,
        "connected": here.live.connected,
    }
