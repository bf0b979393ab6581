"""The channels file: read again when it changes; one that cannot be read keeps the last good one and says so."""

import json
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import structlog
import yaml
from pydantic import ValidationError

from keepstep.contracts.channels import Channels
from keepstep.ports.errors import Permanent

LARGEST = 1024 * 1024
"""Bytes: some thousand channels, and no file that was taken for another."""
DEEPEST = 200
"""Brackets within brackets: YAML's reader takes a second for some thousand, and the notifier waits for it."""
Version = tuple[int, int, int]
"""Modification time in nanoseconds, size and inode: a mounted Secret is swapped for another file of any age."""
ABSENT: Version = (0, 0, 0)


class Source(Protocol):
    """Where the channels of a site come from."""

    @property
    def trouble(self) -> str:
        """What is wrong with them as they are now, and what to do; empty if nothing is."""

    def current(self) -> Channels:
        """Return the channels as they are now, or as they were when they were last in order."""


class Held:
    """Source of channels that are read already."""

    trouble = ""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels

    def current(self) -> Channels:
        """Return them."""
        return self._channels


class ChannelFile:
    """The channels of one file, as it is now or as it was when it was last in order."""

    def __init__(self, path: Path | None) -> None:
        """``path``: None is a site without channels."""
        self._path = path
        self._version: Version | None = None
        self._good = Channels()
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """What is wrong with the file as it is now, and what to do; empty if nothing is."""
        return self._trouble

    def current(self) -> Channels:
        """Return the channels; the file is looked at at every call, and read when it is another one."""
        if self._path is None:
            return self._good
        version = _version(self._path)
        if version != self._version:
            self._version = version
            self._read(self._path)
        return self._good

    def _read(self, path: Path) -> None:
        log = structlog.get_logger("keepstep.channels")
        try:
            self._good = read(path)
        except Permanent as error:
            self._trouble = str(error)
            log.error("channels_kept", because=self._trouble, kept=[one.name for one in self._good.channels])
            return
        self._trouble = ""
        log.info("channels_read", channels=[one.name for one in self._good.channels])


def _version(path: Path) -> Version:
    try:
        found = path.stat()
    except OSError:
        return ABSENT
    return found.st_mtime_ns, found.st_size, found.st_ino


def read(path: Path) -> Channels:
    """Return the channels of a YAML or JSON file; raises Permanent with every mistake, its field and the remedy.

    Of what the file holds, an error repeats the names of fields and nothing else: values may be secrets.
    """
    try:
        with path.open("rb") as opened:
            text = opened.read(LARGEST + 1).decode()
    except OSError as error:
        fault = f"cannot be read: {error.strerror}; mount it there"
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is not UTF-8: save it as UTF-8"
    else:
        return _of(text, path)
    raise Permanent(f"channels {path}: {fault}")


def _of(text: str, path: Path) -> Channels:
    if len(text) > LARGEST:
        raise Permanent(f"channels {path}: has more than {LARGEST} bytes: is it another file?")
    if _depth(text) > DEEPEST:
        raise Permanent(f"channels {path}: is nested too deep")
    try:
        return Channels.model_validate(_parsed(text, path) or {})
    except ValidationError as error:
        fault = mistakes(error)
    except json.JSONDecodeError as error:
        fault = f"line {error.lineno}: not JSON: {error.msg}"
    except yaml.YAMLError as error:
        fault = _yaml_fault(error)
    except RecursionError:
        fault = "is nested too deep"
    raise Permanent(f"channels {path}: {fault}")


def _depth(text: str) -> int:
    """Return the most brackets that are open at once."""
    steps = (1 if one in "[{" else -1 for one in text if one in "[]{}")
    return max(accumulate(steps), default=0)


def _parsed(text: str, path: Path) -> object:
    if path.suffix == ".json":
        parsed: object = json.loads(text)
        return parsed
    return yaml.load(text, Loader=Plain)  # noqa: S506 - Plain is a SafeLoader that takes even less


class Plain(yaml.SafeLoader):
    """YAML without aliases: a small file of them can stand for one of any size."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse an alias; compose anything else."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it out
            raise yaml.MarkedYAMLError(problem="aliases are not taken: write it out", problem_mark=mark)
        composed: yaml.Node | None = super().compose_node(parent, index)
        return composed


def _yaml_fault(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "a character that YAML does not take"
    place = "" if mark is None else f"line {mark.line + 1}: "
    return f"{place}not YAML: {problem if len(problem) < 100 else 'cannot be parsed'}"


def mistakes(error: ValidationError) -> str:
    """Return each mistake with its field and what to write instead, and without what was written."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{_field(one['loc'])}{_remedy(one['type'], one['msg'])}" for one in found)


def _field(where: tuple[int | str, ...]) -> str:
    named = ".".join(str(part) for part in where)
    return f"{named}: " if named else ""


def _remedy(kind: str, message: str) -> str:
    match kind:
        case "extra_forbidden":
            return "is no field of this kind of channel: correct its name or leave it out"
        case "missing":
            return "is missing: write it"
        case "string_type":
            return "is no text: put it in quotes"
        case "union_tag_not_found":
            return "kind is missing: write which kind of channel it is"
        case _:
            return message.removeprefix("Value error, ")
