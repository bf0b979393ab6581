"""Reads a policy from TOML or JSON; a mistake is told with file, line, field and what to write instead."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

from pydantic import ValidationError

from keepstep.asking.mistakes import Where, explain, shown
from keepstep.asking.refused import Refused
from keepstep.contracts.policy import Policy
from keepstep.core.json_text import parsed

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$")


def load(path: Path | None) -> Policy:
    """Return the policy in the file, or the default policy for None; raises Refused with every mistake in one line."""
    if path is None:
        return Policy()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"policy {path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"policy {path}: cannot be read: byte {error.start} is not UTF-8") from error
    json_file = path.suffix == ".json"
    found = _parse_json(path, text) if json_file else _parse_toml(path, text)
    lines = _Lines(text, json_file=json_file)
    try:
        return Policy.model_validate(found)
    except ValidationError as error:
        raise Refused(f"policy {path}: {explain(error, Policy, lines.place)}") from error


def _parse_toml(path: Path, text: str) -> object:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Refused(f"policy {path}: not TOML: nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        what = _AT_LINE.sub("", str(error)).removesuffix(" (at end of document)")
        where = "at its end, " if found is None else _reads(text, int(found[1]))
        raise Refused(f"policy {path}: {where}not TOML: {what}; a JSON policy is named *.json") from error


def _parse_json(path: Path, text: str) -> object:
    try:
        found: object = parsed(text)
    except json.JSONDecodeError as error:
        raise Refused(f"policy {path}: {_reads(text, error.lineno)}not JSON: {error.msg}") from error
    return found


def _reads(text: str, number: int) -> str:
    lines = text.splitlines()
    line = lines[number - 1].strip() if number <= len(lines) else ""
    return f"line {number}{f' reads {shown(line)}' if line else ''}, "


class _Lines:
    """On which line each field of a policy stands, as far as its text tells."""

    def __init__(self, text: str, *, json_file: bool) -> None:
        self._known = _json_lines(text) if json_file else _toml_lines(text)

    def place(self, where: Where) -> str:
        """Return ``line 3, `` for the nearest thing around the field that has a line, or nothing."""
        parts = tuple(str(part) for part in where)
        for length in range(len(parts), 0, -1):
            if (number := self._known.get(parts[:length])) is not None:
                return f"line {number}, "
        return ""


def _toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of every table and key; the text is known to be TOML."""
    found: dict[tuple[str, ...], int] = {}
    count: Counter[tuple[str, ...]] = Counter()
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _HEADER.match(line)) is not None:
            table = _names(header[2])
            if header[1] == "[[":
                count[table] += 1
                table = (*table, str(count[table] - 1))
            found.setdefault(table, number)
        elif (key := _KEY.match(line)) is not None:
            found.setdefault((*table, *_names(key[1])), number)
    return found


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip(" \t\"'") for part in dotted.split("."))


def _json_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of every key, by walking the text once; it is known to be JSON."""
    found: dict[tuple[str, ...], int] = {}
    path: list[str] = []
    opened: list[bool] = []
    name = ""
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]', text):
        match token[0]:
            case "{" | "[" as bracket:
                opened.append(bracket == "[")
                path.append("0" if bracket == "[" else "")
            case "}" | "]":
                opened.pop()
                path.pop()
            case ",":
                path[-1] = str(int(path[-1]) + 1) if opened[-1] else ""
            case ":":
                path[-1] = name
                found.setdefault(tuple(path), text.count("\n", 0, token.start()) + 1)
            case word:
                name = str(json.loads(word))
    return found
