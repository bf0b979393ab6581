"""What a run needs of this machine, looked at one by one, each with the remedy."""

import asyncio
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from keepstep.cli import places
from keepstep.cli.errors import Failed
from keepstep.core.sentences import counted
from keepstep.ports.errors import KeepstepError
from keepstep.runtime.nats_server import find_binary, version_of


class State(StrEnum):
    """What was found."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One check; ``missing`` is what a run cannot do without."""

    what: str
    verdict: State
    text: str

    def as_object(self) -> dict[str, object]:
        """Return it with stable keys."""
        return asdict(self)


def examine(data: Path) -> tuple[Finding, ...]:
    """Return every finding."""
    checks: Iterable[Callable[[Path], Finding]] = (_python, _kernel, _server, _folder, _torch, _running)
    return (*(check(data) for check in checks), *_stacks(data))


def _python(_data: Path) -> Finding:
    version = platform.python_version()
    verdict = State.OK if sys.version_info >= (3, 11) else State.MISSING
    return Finding("python", verdict, f"{version}; 3.11 or newer is needed")


def _kernel(_data: Path) -> Finding:
    if not hasattr(os, "pidfd_open"):
        return Finding("kernel", State.MISSING, "no pidfd: Linux 5.3 or newer is needed")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return Finding("kernel", State.MISSING, f"pidfd_open does not work ({error}): Linux 5.3 or newer is needed")
    return Finding("kernel", State.OK, f"{platform.release()}, exits are seen through pidfd")


def _server(_data: Path) -> Finding:
    if url := os.environ.get("KEEPSTEP_NATS_URL"):
        return Finding("nats", State.NOTE, f"KEEPSTEP_NATS_URL names {url.rpartition('@')[2]}; no server is started")
    try:
        binary = find_binary()
    except KeepstepError as error:
        return Finding("nats", State.MISSING, str(error))
    return Finding("nats", State.OK, f"{binary}, version {'.'.join(map(str, version_of(binary)))}")


def _folder(data: Path) -> Finding:
    there = next(folder for folder in (data, *data.parents) if folder.is_dir())
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding("data", State.MISSING, f"{there} cannot be written; choose another --data")
    return Finding("data", State.OK, f"{data} can be written")


def _torch(_data: Path) -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding("torch", State.NOTE, "not installed: jobs without torch run; steps are marked by the script")
    return Finding("torch", State.OK, "found: steps are marked without a change to the script")


def _running(data: Path) -> Finding:
    found = places.find_up(data)
    if found is None:
        return Finding("stack", State.NOTE, f"no keepstep up in {data}: every run starts a private stack")
    return Finding("stack", State.OK, f"keepstep up runs in {data} with process {found.pid}")


def _stacks(data: Path) -> tuple[Finding, ...]:
    """Return of each stack that runs here what its bus has that nobody could take, or that it does not answer."""
    try:
        found = places.addresses(data)
    except Failed:
        return ()
    return tuple(one for where in found if (one := asyncio.run(_letters(where))) is not None)


async def _letters(where: places.StackAddress) -> Finding | None:
    from keepstep.cli.connect import connected  # noqa: PLC0415 - 0.2 s that a machine without a stack does not need

    whose = f"--job {where.job.uid[:8]}" if where.job else ""
    try:
        async with connected(where) as client:
            return letters_finding(await client.dead_letters.count(), whose)
    except (Failed, KeepstepError) as error:
        told = f"job {where.job.name}" if where.job else "keepstep up" if where.pid else "KEEPSTEP_NATS_URL"
        return Finding("bus", State.NOTE, f"that of {told} does not answer: {error}")


def letters_finding(count: int, options: str = "") -> Finding | None:
    """Return how many messages nobody could take, with the command that shows them; None without any."""
    if not count:
        return None
    look = " ".join(("keepstep deadletter list", options)).rstrip()
    return Finding("dead letters", State.NOTE, f"{counted(count, 'message')} that no service could take: {look}")
