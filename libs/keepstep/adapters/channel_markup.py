"""Jinja in a sandbox, with values escaped for the format they go into.

A job's name or a line of a log calls nobody, links nowhere and breaks no JSON.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlsplit

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from keepstep.ports.errors import Permanent

TEMPLATES = Path(__file__).with_name("templates")


class Format(StrEnum):
    """What a template makes."""

    TEXT = "text"
    HTML = "html"
    DINGTALK = "dingtalk"
    WECOM = "wecom"
    SLACK = "slack"
    JSON = "json"
    """Values stand between quotes of the template's own; ``tojson`` makes its own."""
    FORM = "form"


LOOKALIKES = str.maketrans({"<": "＜", "[": "［", "]": "］", "`": "ˋ", "*": "∗", "#": "＃"})
"""DingTalk's and WeCom's markdown have no escapes that all their clients know, so signs become their wide twins."""
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""The three that Slack's mrkdwn asks for; they keep ``<!channel>`` in a value from calling anybody."""
ESCAPES: Mapping[Format, Callable[[str], str]] = {
    Format.TEXT: str,
    Format.HTML: lambda text: str(escape(text)),
    Format.DINGTALK: lambda text: text.translate(LOOKALIKES),
    Format.WECOM: lambda text: text.translate(LOOKALIKES),
    Format.SLACK: lambda text: text.translate(ENTITIES),
    Format.JSON: lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    Format.FORM: lambda text: quote(text, safe=""),
}
FILTERS = frozenset(
    {"abs", "capitalize", "default", "first", "float", "int", "items", "last", "length", "lower"}
    | {"round", "string", "title", "trim", "truncate", "upper", "urlencode"}
)
"""None that repeats, pads, reads attributes by name or marks a value as safe; ``tojson`` and ``join`` are ours."""
REFUSED = (
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Macro,
    nodes.CallBlock,
    nodes.Call,
    nodes.FilterBlock,
    nodes.Assign,
    nodes.AssignBlock,
    nodes.Mul,
    nodes.Pow,
    nodes.Mod,
)
"""What people's templates do without: nothing in one can call, recur, or grow beyond what the notice holds."""
LONGEST = 256 * 1024
"""Characters of what a template makes."""
LONGEST_JOINT = 16
MOST_LOOPS = 2
"""Loops within loops: links and members are at most some hundreds each."""


def escaped(text: str, form: Format) -> str:
    """Return the text so that it is nothing but text in that format."""
    return ESCAPES[form](text)


def safe_url(url: str) -> str:
    """Return an http(s) address without a sign that ends a link early; empty for any other."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return ""
    whole = scheme in {"http", "https"} and all(ord(one) > 32 for one in url)
    return quote(url, safe="/:?&=%#+,;@!$'~._-[]").replace("[", "%5B").replace("]", "%5D") if whole else ""


@cache
def environment(form: Format) -> ImmutableSandboxedEnvironment:
    """Return the sandbox whose values are escaped for ``form``; templates are read once."""

    def written(value: object) -> object:
        return value if isinstance(value, Markup) else ESCAPES[form](str(value))

    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,
        finalize=written,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.globals.clear()
    made.filters = {name: made.filters[name] for name in FILTERS} | {"tojson": _as_json, "join": _joined}
    return made


def _joined(values: Iterable[object], joint: str = "") -> str:
    if len(joint) > LONGEST_JOINT:
        raise SecurityError(f"join with more than {LONGEST_JOINT} characters in between")
    return joint.join(map(str, values))


def _as_json(value: object) -> Markup:
    return Markup(json.dumps(value, ensure_ascii=False, default=str))  # noqa: S704 - JSON is already what it goes into


def of_people(source: str, form: Format, values: Mapping[str, object], *, where: str) -> str:
    """Return what a template of the channels file makes of the values.

    Raises Permanent that names ``where`` and the line, for a template that is none, does too much, or asks for a value
    that does not exist.
    """
    made = environment(form)
    try:
        _judge(made.parse(source), 0)
        return _bounded(made.from_string(source).generate(values))
    except SecurityError as error:
        fault = f"{error}: leave it out"
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        fault = f"{f'line {line}: ' if line else ''}{error.message}"
    except (TypeError, ValueError, ArithmeticError) as error:
        fault = f"{type(error).__name__}: a filter does not fit its value"
    raise Permanent(f"{where}: {fault}")


def _bounded(pieces: Iterable[str]) -> str:
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > LONGEST:
            raise SecurityError(f"makes more than {LONGEST} characters")
    return text


def _judge(node: nodes.Node, loops: int) -> None:
    if isinstance(node, REFUSED):
        raise SecurityError(f"line {node.lineno}: {type(node).__name__.lower()} is not for templates of channels")
    if isinstance(node, nodes.For):
        loops += 1
        if loops > MOST_LOOPS or node.recursive:
            raise SecurityError(f"line {node.lineno}: more than {MOST_LOOPS} loops in one another")
    for child in node.iter_child_nodes():
        _judge(child, loops)
