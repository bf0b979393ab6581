"""Which jobs there are, asked of every stack that runs and of what ended ones have left."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from keepstep.cli import history, places
from keepstep.cli.connect import connected
from keepstep.cli.errors import Failed
from keepstep.cli.jobs import fold, left_behind, living, only
from keepstep.cli.say import give
from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.message import Order
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import JobRef
from keepstep.core.job_now import JobState
from keepstep.core.known_job import KnownJob
from keepstep.core.naming import means
from keepstep.runtime.client import Client

LISTEN_S = 1.2
"""Every agent beats once a second; who has said nothing after this long is not waited for."""


async def known_jobs(data: Path, name: str | None = None) -> tuple[KnownJob, ...]:
    """Return the jobs (that may be meant by a name), oldest first, those that run as they are now. Raises Failed."""
    found: dict[JobUid, KnownJob] = {}
    for source in reversed(history.sources(data, name)):
        jobs = await fold(history.said(source))
        if isinstance(source, history.Running):
            async with connected(source.address) as client:
                await listen(client, [job for job in jobs if name is None or means(name, job.ref)])
        else:
            jobs = left_behind(jobs)
        found |= {job.ref.uid: job for job in jobs}
    return tuple(sorted(found.values(), key=lambda job: job.born))


async def living_job(data: Path, name: str, *, to: str) -> tuple[KnownJob, places.StackAddress]:
    """Return the one job of this name or uid that has not ended, and its stack. Raises Failed if there is none."""
    known: list[KnownJob] = []
    stacks: dict[JobUid, places.StackAddress] = {}
    with contextlib.suppress(Failed):
        for where in places.addresses(data, name):
            jobs = await fold(history.said(history.Running(where)))
            known += jobs
            stacks |= {job.ref.uid: where for job in jobs}
    if not any(means(name, job.ref) for job in known):
        known += left_behind(await fold(history.told(data, name)))
    job = living(known, name, to=to)
    return job, stacks[job.ref.uid]


async def only_job(data: Path, node: str | None, *, to: str) -> tuple[KnownJob, places.StackAddress]:
    """Return the one job that runs, on ``node`` where one is named, and its stack. Raises Failed and Refused."""
    found = {
        job.ref.uid: (job, where)
        for where in places.addresses(data)
        for job in await fold(history.said(history.Running(where)))
    }
    return found[only([job for job, _ in found.values()], node, to=to).ref.uid]


async def ask(data: Path, name: str, say: Callable[[Pool, JobRef], Order], *, to: str) -> str:
    """Say an order to the one job of this name that has not ended, and return what was asked. Raises Failed."""
    job, where = await living_job(data, name, to=to)
    async with connected(where) as client:
        await give(client, say(where.pool, job.ref))
    return f"asked to {to} job {job.ref.name} {job.ref.uid}"


async def listen(client: Client, jobs: Sequence[KnownJob]) -> None:
    """Take in a heartbeat of every task of the running jobs, for 1.2 seconds at most."""
    running = {job.ref.uid: job for job in jobs if job.view.state is JobState.RUNNING}
    complete = asyncio.Event()

    def felt(beat: Heartbeat) -> None:
        if (job := running.get(beat.job.uid)) is None:
            return
        job.view.feel(beat)
        if all({placed.task.uid for placed in one.view.placement} <= set(one.view.beats) for one in running.values()):
            complete.set()

    if running:
        tasks = [asyncio.ensure_future(client.telemetry.hear(felt)), asyncio.ensure_future(complete.wait())]
        await asyncio.wait(tasks, timeout=LISTEN_S, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
