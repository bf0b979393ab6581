"""Puts a message's words into one text of a format: markdown of a vendor, plain, or HTML."""

from functools import partial

from markupsafe import Markup

from keepstep.adapters.channel_markup import Format, environment
from keepstep.adapters.channel_words import Words
from keepstep.core.words.facts import name

COLOURS = {"🔴": "warning", "🟠": "warning", "🔵": "comment", "🟢": "info"}
"""WeCom's three colours: orange, grey, green."""


def laid_out(words: Words, form: Format, *, called: str = "", links: bool = True, keyword: str = "") -> str:
    """Return the whole text; ``called`` is its last line, which mentions people; ``links``: with them in the text.

    ``keyword`` is put in front of the title, as the robot wants it and so unescaped, where the text lacks it.
    """
    text = _rendered(words, form, called, links, "")
    return text if keyword in text else _rendered(words, form, called, links, f"[{keyword}] ")


def _rendered(words: Words, form: Format, called: str, links: bool, prefix: str) -> str:
    template = environment(form).get_template(f"layouts/{form}.j2")
    text = template.render(
        words=words,
        lines=words.text.splitlines(),
        called=called,
        links=links,
        prefix=prefix,
        colour=f'<font color="{COLOURS[words.sign]}">',
        safe=Markup,
        label=partial(name, language=words.language),
    )
    return text.strip()


def with_keyword(text: str, keyword: str) -> str:
    """Return the text with the robot's keyword in front, unless it has it."""
    return text if not keyword or keyword in text else f"[{keyword}] {text}"
