"""What of a message that nobody could read may be shown: enough to know it by, nothing that opens a door."""

import json
import re

from keepstep.core.json_text import parsed
from keepstep.core.masking import HIDDEN, masked

LENGTH = 2000
"""Characters shown: a screen of text; the whole message stays with its letter."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>\\]+")
_SECRET = r"(?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|credentials?|authorization|cookie)"  # noqa: S105 - the words, not one
_NAMED = re.compile(_SECRET, re.IGNORECASE)
_ASSIGNED = re.compile(rf"({_SECRET}[\w-]*[\"']?\s*[=:]\s*(?:bearer\s+)?)[\"']?[^\s\"',}}\]]+", re.IGNORECASE)
_OF_PEOPLE = frozenset({"env"})
"""Fields whose every value may be a secret."""


def excerpt(body: bytes) -> str:
    """Return the beginning of a message with addresses cut to their host and what is named like a secret hidden."""
    text = body.decode(errors="replace")
    try:
        text = json.dumps(_hidden(parsed(text)), ensure_ascii=False)
    except (ValueError, RecursionError):  # what can just be read may be too deep to be gone through
        return _plain(text)
    return text if len(text) <= LENGTH else f"{text[:LENGTH]}... ({len(text)} characters)"


def _hidden(value: object, *, secret: bool = False) -> object:
    match value:
        case dict():
            return {key: _hidden(each, secret=secret or _is_secret(key)) for key, each in value.items()}
        case list():
            before = [None, *value[:-1]]
            return [_hidden(each, secret=secret or _is_flag(last)) for last, each in zip(before, value, strict=False)]
        case str():
            return HIDDEN if secret else _plain(value)
        case _:
            return HIDDEN if secret else value


def _is_secret(key: str) -> bool:
    return key in _OF_PEOPLE or _NAMED.search(key) is not None


def _is_flag(word: object) -> bool:
    """Tell whether an argument's value follows it that is a secret, as in ``--token VALUE``."""
    return isinstance(word, str) and word.startswith("-") and "=" not in word and _NAMED.search(word) is not None


def _plain(text: str) -> str:
    """Return the text without secrets, cut before it is searched: of a huge one the patterns would never return."""
    shown = _ADDRESS.sub(lambda found: masked(found.group()), text[:LENGTH])
    return _ASSIGNED.sub(rf"\1{HIDDEN}", shown) + (f"... ({len(text)} characters)" if len(text) > LENGTH else "")
