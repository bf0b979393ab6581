"""What was said: from the running stack or, when none runs, from what a run or a ``keepstep up`` left on disk."""

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from keepstep.cli import places
from keepstep.cli.errors import Failed
from keepstep.cli.on_cluster import needs_bus
from keepstep.cli.options import note
from keepstep.contracts import events, orders
from keepstep.contracts.message import Message, messages
from keepstep.core.naming import means
from keepstep.core.sentences import counted

KNOWN_IN = (events, orders)
"""The modules whose messages a story may hold; importing them fills the registry."""


@dataclass(frozen=True)
class Running:
    """A stack that runs."""

    address: places.StackAddress

    @property
    def folder(self) -> Path:
        """Where it keeps its things."""
        return self.address.folder


@dataclass(frozen=True)
class EndedUp:
    """A ``keepstep up`` that ended; ``address`` is what it had."""

    address: places.StackAddress

    @property
    def folder(self) -> Path:
        """Where it has left its things."""
        return self.address.folder


@dataclass(frozen=True)
class EndedRun:
    """A run that ended, or whose stack was another's."""

    folder: Path


Source = Running | EndedUp | EndedRun


def sources(data: Path, job: str | None = None) -> tuple[Source, ...]:
    """Return what may tell of the job, or of anything: running stacks first, then what was left, newest first.

    Raises Failed if there is nothing.
    """
    needs_bus(None)
    left: list[Source] = [EndedRun(folder) for folder in places.told_runs(data, job)]
    if (ended := places.ended_up(data)) is not None:
        left.append(EndedUp(ended))
    left.sort(key=lambda source: places.last_sign(source.folder), reverse=True)
    try:
        running = places.addresses(data, job)
    except Failed:
        if not left:
            raise
        running = ()
    alive = [Running(address) for address in running]
    return (*alive, *(source for source in left if source.folder not in {one.folder for one in alive}))


async def told(data: Path, job: str | None = None, *, follow: bool = False) -> AsyncIterator[Message]:
    """Yield every message of the first source (that knows the job), with ``follow`` then new ones. Raises Failed."""
    if follow:
        async for message in followed(places.address(data, job)):
            if concerns(message, job):
                yield message
        return
    for source in sources(data, job):
        known = False
        async for message in said(source):
            if concerns(message, job):
                known = True
                yield message
        if known or job is None:
            return


async def said(source: Source) -> AsyncIterator[Message]:
    """Yield every message of one source. Raises Failed."""
    if isinstance(source, EndedRun):
        for message in written(source.folder):
            yield message
        return
    from keepstep.cli.connect import archived, connected  # noqa: PLC0415 - 0.2 s that a finished run does not need

    opened = connected if isinstance(source, Running) else archived
    async with opened(source.address) as client:
        async for one in client.read():
            if one.message is not None:
                yield one.message


async def followed(address: places.StackAddress) -> AsyncIterator[Message]:
    """Yield every message of a running stack and then the new ones, for ever. Raises Failed."""
    from keepstep.cli.connect import connected  # noqa: PLC0415 - as above

    async with connected(address) as client:
        async for one in client.follow():
            if one.message is not None:
                yield one.message


def written(folder: Path) -> Iterator[Message]:
    """Yield what a run has written of its story; a line that is being written is left out, and so is a garbled one.

    The latter is told: a crash of the machine, a bad disk or a newer keepstep must not hide what stands beside it.
    """
    path, garbled = folder / "events.jsonl", 0
    with path.open("rb") as story:
        for line in story:
            if not line.endswith(b"\n"):
                continue
            try:
                message = read_line(line.removesuffix(b"\n").decode())
            except (ValueError, KeyError):
                garbled += 1
            else:
                yield message
    if garbled:
        note(f"{path}: left out {counted(garbled, 'line')} that this version cannot read")


def read_line(line: str) -> Message:
    """Return the message of one line of ``events.jsonl``; raises ValueError or KeyError for what is none."""
    name, _, text = line.partition("\t")
    return messages()[name].read(text)


def concerns(message: Message, job: str | None) -> bool:
    """Return whether a message is about the job of this name or uid, or about no job's life in particular."""
    return job is None or (message.job is not None and means(job, message.job))


def covers(data: Path, job: str | None) -> str | None:
    """Return what a listing is of where nobody said which job: a stack that ended, or one run of several.

    None where there is nothing to add. Raises Failed without any source.
    """
    if job is not None or "KEEPSTEP_NATS_URL" in os.environ:
        return None
    source = sources(data)[0]
    runs = places.told_runs(data)
    others = [folder for folder in runs if folder != source.folder]
    match source:
        case EndedUp():
            beside = f", beside {counted(len(runs), 'run')}; --job names one" if runs else ""
            return f"no keepstep runs; this is what keepstep up left in {data}{beside}"
        case Running() if source.folder == data:
            return None
        case _:
            many = (
                f"this is of {source.folder.name} alone, one of {len(others) + 1} runs in {data}; --job names another"
            )
            return many if others else None


def nodes_of(data: Path, job: str | None = None) -> tuple[Path, str | None]:
    """Return the folder of the local nodes, KEEPSTEP_CLUSTER's or the first source's, and why none of them lives.

    The reason is None where they may live. Raises Failed if there never were any.
    """
    if (named := places.named_cluster()) is not None:
        return named, None
    source = sources(data, job)[0]
    match source:
        case Running():
            return places.cluster_of(source.address), None
        case EndedUp():
            return source.address.cluster, f"no keepstep runs; this is how keepstep up left the nodes in {data}"
        case EndedRun():
            name = source.folder.name
            return source.folder / "cluster", f"run {name} has ended; this is how it left its nodes"


def clusters(data: Path, job: str) -> tuple[Path, ...]:
    """Return where the tasks of a job may have their folders: the stack's nodes and those that its run has kept."""
    return tuple(dict.fromkeys((nodes_of(data, job)[0], *(one.folder / "cluster" for one in sources(data, job)))))
