"""What a training container runs, and what it is to run instead."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from keepstep.adapters.kube_json import JsonObject, rows, table, text, words
from keepstep.contracts.topology import Command, Entrypoint, Module, Script
from keepstep.injection.objection import Objection
from keepstep.injection.shell import asked_by, script_of
from keepstep.trainer.command import Asked, recognise
from keepstep.trainer.task import Kind, Run

ROOT = "/keepstep"
LAUNCH, SHIMS = f"{ROOT}/bin/keepstep-launch", f"{ROOT}/bin/keepstep-shims"
_DEVICE = re.compile(r"(gpu|npu|mlu|dcu|xpu|neuron)$|^huawei\.com/ascend", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\((\w+)\)")


class Way(StrEnum):
    """How keepstep comes to start the ranks."""

    RANKS = "ranks"
    """The launcher starts them in the command's place."""
    SHIMS = "shims"
    """The command runs as it is, and meets our torchrun."""
    WHOLE = "whole"
    """The command is run whole, as one rank per pod; only the whole job can be restarted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A container's command, read."""

    way: Way
    command: tuple[str, ...]
    """What the container is to run."""
    entrypoint: Entrypoint
    nproc: int
    nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """What is said of the ranks per pod beside the command."""

    wished: int | None = None
    of_kind: int | None = None
    """By a field of the job that torchrun obeys."""
    per_device: bool = False
    """Plain Python is one rank per device, as in MindSpore; else it is one per pod."""


def entry_of(container: JsonObject, field: str, count: Count) -> Entry | Objection:
    """Return how the container's command runs under keepstep."""
    for name in ("command", "args"):
        if text(container, name):
            because = "it is one text, and Kubernetes takes a list of words"
            return Objection(f"{field}.{name}", because, "write each word as an item: [python, train.py]")
    argv = (*words(container, "command"), *words(container, "args"))
    if not words(container, "command"):
        because = "the image's own entrypoint is not known here and cannot be wrapped"
        return Objection(f"{field}.command", because, "write the command that the image would run")
    environ = literals(container)
    filled = tuple(_VARIABLE.sub(lambda found: environ.get(found[1], found[0]), word) for word in argv)
    asked, way = recognise(filled, environ), Way.RANKS
    if asked is None:
        script = script_of(filled)
        asked, way = None if script is None else asked_by(script, environ), Way.SHIMS
    if asked is None:
        return Entry(Way.WHOLE, ("/bin/sh", LAUNCH, *argv), Command(argv=filled), nproc=1)
    nproc = asked.run.nproc or _counted(asked, count, devices(container))
    if not nproc:
        because = f"{asked.wrapper} asks for as many ranks as there are devices, and none is asked for"
        remedy = "write --nproc-per-node N, or annotate the job with keepstep.io/nproc"
        return Objection(f"{field}.resources.limits", because, remedy)
    entrypoint = _entrypoint(asked.run) if way is Way.RANKS else Command(argv=filled)
    return Entry(way, ("/bin/sh", _door(way), *argv), entrypoint, nproc, asked.nodes)


def _counted(asked: Asked, count: Count, given: int) -> int:
    """Return the ranks of a command that leaves their number open, 0 where nothing tells it."""
    if asked.wrapper == "python":
        return count.wished or (given if count.per_device else 0) or 1
    return count.wished or count.of_kind or given


def literals(container: JsonObject) -> Mapping[str, str]:
    """Return the container's variables whose values stand in the manifest."""
    return {text(one, "name"): text(one, "value") for one in rows(container, "env") if "value" in one}


def devices(container: JsonObject) -> int:
    """Return how many accelerators the container is given, 0 for none."""
    limits = table(container, "resources", "limits")
    counts = [str(count) for name, count in limits.items() if _DEVICE.search(name)]
    return sum(int(count) for count in counts if count.isdigit())


def _door(way: Way) -> str:
    return SHIMS if way is Way.SHIMS else LAUNCH


def _entrypoint(run: Run) -> Entrypoint:
    match run.kind:
        case Kind.SCRIPT:
            return Script(path=run.target, args=run.argv)
        case Kind.MODULE:
            return Module(name=run.target, args=run.argv)
        case Kind.COMMAND:
            return Command(argv=run.argv)
