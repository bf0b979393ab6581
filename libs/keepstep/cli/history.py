"""What was said, from the running stack or, when none runs, from the files that a finished run left."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from keepstep.cli import places
from keepstep.cli.errors import Failed
from keepstep.cli.options import DEFAULT_POOL
from keepstep.cli.stack import connected
from keepstep.contracts.events import JobAccepted
from keepstep.contracts.ids import IncidentId, Pool
from keepstep.contracts.message import Message, messages
from keepstep.contracts.topology import JobRef
from keepstep.core import timeline
from keepstep.runtime.client import Client


def address(data: Path, job: str | None = None) -> places.StackAddress:
    """Return the stack to talk to: the one of KEEPSTEP_NATS_URL and KEEPSTEP_POOL, else one that runs in ``data``.

    Raises Failed if there is none.
    """
    return addresses(data, job)[0]


def addresses(data: Path, job: str | None = None) -> tuple[places.StackAddress, ...]:
    """Return every stack that may know the job, the likeliest first. Raises Failed if there is none."""
    if url := os.environ.get("KEEPSTEP_NATS_URL"):
        pool = Pool(os.environ.get("KEEPSTEP_POOL", DEFAULT_POOL))
        return (places.StackAddress(pid=0, url=SecretStr(url), pool=pool, folder=data),)
    return places.find_all(data, job)


@asynccontextmanager
async def joined(data: Path, job: str | None = None) -> AsyncIterator[tuple[Client, places.StackAddress]]:
    """Connect to that stack for the block."""
    where = address(data, job)
    async with connected(where) as client:
        yield client, where


async def told(data: Path, job: str | None = None, *, follow: bool = False) -> AsyncIterator[Message]:
    """Yield every message (of one job), and with ``follow`` then the new ones, for ever. Raises Failed."""
    try:
        where = address(data, job)
    except Failed:
        if follow or (folder := places.finished_run(data, job)) is None:
            raise
        for message in written(folder):
            yield message
        return
    async with connected(where) as client:
        async for said in client.follow() if follow else client.read():
            if said.message is not None and concerns(said.message, job):
                yield said.message


def written(folder: Path) -> Iterator[Message]:
    """Yield what a run has written of its story; a line that is being written is left out."""
    with (folder / "events.jsonl").open(encoding="utf-8", newline="\n") as story:
        for line in story:
            if line.endswith("\n"):
                yield read_line(line[:-1])


def covers(data: Path, job: str | None) -> str | None:
    """Return which one run is told of when nobody said which and there are several, else None. Raises Failed."""
    runs = places.told_runs(data)
    if job is not None or "KEEPSTEP_NATS_URL" in os.environ:
        return None
    try:
        where = places.find(data).folder
    except Failed:
        if not runs:
            raise
        where = runs[0]
    others = [folder for folder in runs if folder != where]
    if not others or where == data:
        return None
    return f"this is of {where.name} alone, one of {len(others) + 1} runs in {data}; --job names another"


def cluster(data: Path, job: str | None = None) -> Path:
    """Return the folder of the local nodes: KEEPSTEP_CLUSTER's, else the stack's. Raises Failed if none runs."""
    named = os.environ.get("KEEPSTEP_CLUSTER", "")
    return Path(named.removeprefix("local:")) if named.startswith("local:") else address(data, job).cluster


def clusters(data: Path, job: str) -> tuple[Path, ...]:
    """Return where the tasks of a job may have their folders: the stack's nodes and those its run has kept."""
    kept = places.finished_run(data, job)
    try:
        now = cluster(data, job)
    except Failed:
        if kept is None:
            raise
        return (kept / "cluster",)
    return tuple(dict.fromkeys((now, *(() if kept is None else (kept / "cluster",)))))


def read_line(line: str) -> Message:
    """Return the message of one line of ``events.jsonl``."""
    name, _, text = line.partition("\t")
    return messages()[name].read(text)


def concerns(message: Message, job: str | None) -> bool:
    """Return whether a message is about the job of this name or uid, or about no job's life in particular."""
    return job is None or (message.job is not None and places.means(job, message.job))


async def incidents(data: Path, job: str | None = None) -> tuple[timeline.Timeline, ...]:
    """Return the incidents (of one job), oldest first."""
    record = timeline.Record()
    async for message in told(data, job):
        record = timeline.tell(record, message)
    return record.incidents


async def all_incidents(data: Path) -> tuple[timeline.Timeline, ...]:
    """Return the incidents of the stack and of every run in the data folder, each once. Raises Failed without any."""
    runs = places.told_runs(data)
    found: dict[IncidentId, timeline.Timeline] = {}
    for folder in runs:
        record = timeline.Record()
        for message in written(folder):
            record = timeline.tell(record, message)
        found |= record.timelines
    try:
        found |= {one.incident: one for one in await incidents(data)}
    except Failed:
        if not runs:
            raise
    return tuple(found.values())


async def newest_job(client: Client, name: str) -> JobRef:
    """Return the newest job of this name or uid; raises Failed if there never was one."""
    found = None
    async for said in client.read(kind=JobAccepted.__name__):
        if said.message is not None and concerns(said.message, name):
            found = said.message.job
    if found is None:
        raise Failed(f"there is no job {name}; keepstep job list shows them")
    return found
