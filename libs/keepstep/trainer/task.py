"""What the launcher reads of task.json: plain JSON, only the fields that starting and stopping ranks needs."""

from __future__ import annotations

import enum
import json
import os
import re
import types
from typing import Any, Mapping, NamedTuple

_PERIOD = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$")


class Kind(str, enum.Enum):
    """What an entrypoint is; the same words as the contracts'."""

    SCRIPT = "script"
    MODULE = "module"
    COMMAND = "command"


_TARGETS = {Kind.SCRIPT: "path", Kind.MODULE: "name"}
"""The field that names what to run; the whole command line of a command is its argv."""


class Run(NamedTuple):
    """What a command of the pod asks to run, in the place of the entrypoint that was known before the pod was."""

    kind: Kind
    target: str
    argv: tuple[str, ...]
    nproc: int | None
    """Ranks per task, None where the command leaves that to the task."""
    env: Mapping[str, str] = types.MappingProxyType({})
    """What the command's own launcher would have set for its ranks."""

    @classmethod
    def parse(cls, text: str) -> Run:
        """Read JSON of these fields; raises ValueError or KeyError for others."""
        asked = json.loads(text)
        nproc = asked.get("nproc")
        return cls(
            kind=_kind(asked["kind"]),
            target=str(asked["target"]),
            argv=tuple(map(str, asked["argv"])),
            nproc=None if nproc is None else int(nproc),
            env={str(name): str(value) for name, value in asked.get("env", {}).items()},
        )

    def text(self) -> str:
        """Return the JSON that ``parse`` reads."""
        return json.dumps({**self._asdict(), "env": dict(self.env)})


class Task(NamedTuple):
    """One incarnation of one task of a job."""

    directory: str
    uid: str
    kind: Kind
    target: str
    """Path of the script or name of the module; empty for a command."""
    argv: tuple[str, ...]
    """Arguments of the script or module; the whole command line of a command."""
    nproc: int
    cwd: str
    env: dict[str, str]
    warm_ranks: int
    preload: tuple[str, ...] | None
    """Modules that a spare imports; None means torch if the script uses it."""
    grace_s: float
    kill_s: float
    log_keep: int
    """Bytes kept of a rank's stdout, and as many of its stderr."""


def seconds(value: float | str) -> float:
    """Return the seconds of a JSON duration (a number or ISO 8601 such as PT1.5S); raises ValueError on others."""
    if not isinstance(value, str):
        return float(value)
    match = _PERIOD.match(value)
    if match is None:
        raise ValueError("%r is no duration such as PT1.5S" % value)
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def read(directory: str, instead: Run | None = None) -> Task:
    """Read ``directory``/task.json; raises OSError, KeyError or ValueError if it is missing or not a task.

    ``instead`` takes the place of its entrypoint; raises ValueError where it asks for another number of ranks.
    """
    directory = os.path.abspath(directory)
    with open(os.path.join(directory, "task.json"), encoding="utf-8") as file:
        launch: dict[str, Any] = json.load(file)
    spec = launch["spec"]
    trainer = spec.get("policy", {}).get("trainer", {})
    kind, target, argv = _entrypoint(spec["entrypoint"]) if instead is None else instead[:3]
    warm = trainer.get("warm_ranks")
    preload = trainer.get("preload")
    nproc = int(spec.get("nproc", 1))
    if instead is not None and instead.nproc not in (None, nproc):
        raise ValueError("the command asks for %s ranks here, the job has %d per task" % (instead.nproc, nproc))
    return Task(
        directory=directory,
        uid=launch["task"]["uid"],
        kind=kind,
        target=target,
        argv=argv,
        nproc=nproc,
        cwd=os.path.abspath(spec.get("cwd", ".")),
        env={**(instead.env if instead is not None else {}), **spec.get("env", {})},
        warm_ranks=0 if kind is Kind.COMMAND else nproc if warm is None else int(warm),
        preload=None if preload is None else tuple(preload),
        grace_s=seconds(trainer.get("stop_grace", 3.0)),
        kill_s=seconds(trainer.get("kill_deadline", 5.0)),
        log_keep=int(trainer.get("log_keep", 256 * 1024 * 1024)),
    )


def _entrypoint(entrypoint: dict[str, Any]) -> tuple[Kind, str, tuple[str, ...]]:
    kind = _kind(entrypoint.get("kind", "script"))
    target = entrypoint[_TARGETS[kind]] if kind in _TARGETS else ""
    return kind, target, tuple(entrypoint["argv"] if kind is Kind.COMMAND else entrypoint.get("args", ()))


def _kind(word: str) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise ValueError("entrypoint of kind %r; known are script, module and command" % word) from None
