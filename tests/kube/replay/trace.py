"""Reads a recorded trace (see traces/README.md for its lines)."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..server.objects import Obj


@dataclass(frozen=True)
class Mark:
    """A note of the script that made the trace."""

    t: float
    note: str
    after: float | None = None
    found: Obj = field(default_factory=dict)


@dataclass(frozen=True)
class Action:
    """A request of the script, and the answer it got."""

    t: float
    verb: str
    kind: str
    code: int
    name: str = ""
    sub: str = ""
    query: str = ""
    content_type: str = ""
    body: Obj | list[Obj] | None = None
    status: Obj = field(default_factory=dict)
    retry_after: int | None = None
    note: str = ""
    lines: list[Obj] = field(default_factory=list)


@dataclass(frozen=True)
class Seen:
    """A watch event: all fields of an ADDED, what changed (None: gone) of a MODIFIED or DELETED."""

    t: float
    type: str
    kind: str
    name: str
    uid: str
    fields: Obj


@dataclass(frozen=True)
class Told:
    """A core/v1 event."""

    t: float
    about: str
    reason: str


Line = Mark | Action | Seen | Told


@dataclass(frozen=True)
class Trace:
    """One scenario."""

    scenario: str
    namespace: str
    lines: tuple[Line, ...]

    @property
    def seen(self) -> list[Seen]:
        """Return the watch events."""
        return [line for line in self.lines if isinstance(line, Seen)]

    @property
    def told(self) -> list[Told]:
        """Return the core/v1 events."""
        return [line for line in self.lines if isinstance(line, Told)]

    @property
    def script(self) -> list[Mark | Action]:
        """Return what the script did and noted, in order."""
        return [line for line in self.lines if isinstance(line, Mark | Action)]

    def nodes(self) -> dict[str, bool]:
        """Return the names of the scenario's nodes, and whether each is cordoned at the start."""
        found: dict[str, bool] = {}
        for line in self.lines:
            match line:
                case Seen(kind="Pod", fields={"node": str(node)}):
                    found.setdefault(node, False)
                case Action(kind="node", name=node, body={"spec": {"unschedulable": False}}) if node:
                    found.setdefault(node, True)
                case Action(kind="node", name=node) if node:
                    found.setdefault(node, False)
                case _:
                    continue
        return dict(sorted(found.items()))


def read(path: Path) -> Trace:
    """Read one trace file."""
    text = path.read_text(encoding="utf-8")
    lines = tuple(_line(json.loads(line)) for line in text.splitlines())
    found = re.search(r'"pool": "([^"]+)"', text) or re.search(r'"namespace": "([^"]+)"', text)
    if found is None:
        raise ValueError(f"{path} names no namespace")
    return Trace(f"{path.parent.name}/{path.stem}", found[1], lines)


def scenarios(folder: Path) -> Iterator[Path]:
    """Yield the trace files, by kind and name."""
    yield from sorted(folder.glob("*/*.jsonl"))


def _line(line: Obj) -> Line:
    t, kind = line.pop("t"), line.pop("type")
    match kind:
        case "MARK":
            return Mark(t, line.pop("note"), line.pop("after", None), line)
        case "ACTION":
            return _action(t, line)
        case "ADDED" | "MODIFIED" | "DELETED":
            if line["kind"] == "Event":
                return Told(t, line["about"], line["reason"])
            return Seen(t, kind, line.pop("kind"), line.pop("name"), line.pop("uid"), line)
        case other:
            raise ValueError(f"{other!r} is no line of a trace")


def _action(t: float, line: Obj) -> Action:
    return Action(
        t,
        line["verb"],
        line["kind"],
        line["code"],
        name=line.get("name", ""),
        sub=line.get("sub", ""),
        query=line.get("q", "").removeprefix("?"),
        content_type=line.get("ct", ""),
        body=line.get("body"),
        status=line.get("status") or {},
        retry_after=int(line["retryAfter"]) if line.get("retryAfter") else None,
        note=line.get("note", ""),
        lines=line.get("lines") or [],
    )
