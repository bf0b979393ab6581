"""``keepstep up``: keeps the embedded stack and its local nodes running until a signal."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepstep.adapters.local_nodes import LocalNodes
from keepstep.cli import console, history, show
from keepstep.cli.channels_watch import channels_watched
from keepstep.cli.columns import shortened
from keepstep.cli.connect import connected
from keepstep.cli.errors import Failed
from keepstep.cli.folders import make
from keepstep.cli.footing import UP, bus_silent, folder_lost, room_lost, stream_lost
from keepstep.cli.jobs import fold
from keepstep.cli.known import listen
from keepstep.cli.last_resort import Closing, unhurried
from keepstep.cli.nodes_down import nodes_down
from keepstep.cli.options import write
from keepstep.cli.say import order
from keepstep.cli.signals import Interruptions
from keepstep.cli.stack import Stack, embedded
from keepstep.cli.tasks_gone import tasks_gone
from keepstep.cli.waiting import first_of, outcome
from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.orders import StopJob
from keepstep.core.known_job import KnownJob
from keepstep.core.sentences import counted
from keepstep.ports.errors import KeepstepError

STOP_LIMIT_S = 20.0
"""The ranks' grace and kill take 8 s by default; after this long the nodes are stopped over them."""

READ_LIMIT_S = 60.0
"""For the stream to tell which jobs run, and once more for it to take their ends: a month of a busy pool takes ten
seconds of a core and more. Nodes that are stopped under their jobs are faults to whoever reads of it later."""


@dataclass(frozen=True)
class Plan:
    """What is to run, and where."""

    folder: Path
    pool: Pool
    port: int
    nodes: int


async def stay_up(plan: Plan, closing: Closing = unhurried) -> None:
    """Run the stack until the first SIGINT, SIGTERM or SIGHUP; raises Failed if it cannot start or breaks.

    ``closing`` is told when only the stack is left to close.
    """
    interruptions = Interruptions()
    interruptions.listen()
    make(plan.folder)
    async with AsyncExitStack() as room:
        async with interruptions.may_end():
            stack = await room.enter_async_context(embedded(plan.folder, pool=plan.pool, port=plan.port))
        os.environ["KEEPSTEP_NATS_URL"] = stack.address.url.get_secret_value()
        os.environ["KEEPSTEP_POOL"] = plan.pool
        nodes = LocalNodes(stack.address.cluster)
        try:
            async with interruptions.may_end():
                await asyncio.to_thread(nodes.start_all, [f"n{number}" for number in range(1, plan.nodes + 1)])
            asked, ready = (asyncio.ensure_future(one) for one in (interruptions.first.wait(), stack.ready()))
            await asyncio.wait({asked, ready}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if not asked.done() and not stack.broken.done():
                write(f"keepstep is up in {plan.folder}{await _console(stack, interruptions)}; Ctrl-C stops it")
            await first_of(interruptions.first.wait(), outcome(stack.broken), _footing(stack))
            if not interruptions.first.is_set():
                raise Failed(f"the services ended: {stack.broken.exception() or 'without a reason'}")
            await _stop_jobs(stack, interruptions)
        finally:
            await nodes_down(nodes, interruptions)
            closing(Failed.exit_code)
    write(f"keepstep is down; job list, incident list and events still tell what happened in {plan.folder}")


async def _footing(stack: Stack) -> None:
    """Watch for ever; raises Failed once the bus has lost its stream. Without their folder the jobs there go on."""
    async with connected(stack.address) as client:
        await first_of(
            stream_lost(client, UP),
            folder_lost(stack.address.cluster, write, lambda: False),
            room_lost(stack.address.folder, write),
            bus_silent(client, write),
            channels_watched(write),
        )


async def _console(stack: Stack, interruptions: Interruptions) -> str:
    """Return where the console is, in words; raises Failed if its port is not to be had."""
    if not console.is_installed():
        return " (without a console: pip install 'keepstep[console]' brings one)"
    asked = asyncio.ensure_future(interruptions.first.wait())
    waiting: set[asyncio.Future[Any]] = {stack.console, asked, stack.broken}
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not stack.console.done():
        return ""
    try:
        return f", its console at {stack.console.result()}"
    except KeepstepError as error:
        raise Failed(str(error)) from error


async def _stop_jobs(stack: Stack, interruptions: Interruptions) -> None:
    """Stop the jobs that run here, which cannot go on without their stack, and wait until their ranks are gone."""
    name = signal.Signals(interruptions.number).name
    jobs = await _living(stack, interruptions)
    if jobs is None:
        why = "was told twice" if interruptions.second.is_set() else "what runs here was not read in time"
        write(f"{name}: {why}; stopping the nodes with all that runs on them")
        return
    if not jobs:
        write(f"{name}: no job runs; stopping")
        return
    told: set[JobUid] = set()
    ordered = _order_stop(stack, jobs, name, told)
    await first_of(ordered, interruptions.second.wait(), limit_s=READ_LIMIT_S)
    untold = [_called(job, jobs) for job in jobs if job.ref.uid not in told]
    if untold and not interruptions.second.is_set():
        write(
            f"{name}: the bus did not take the order to stop {', '.join(untold)} in time; stopping the nodes with all"
            " that runs on them"
        )
        return
    gone = tasks_gone(stack.address.cluster, {job.ref.uid for job in jobs})
    await first_of(gone, interruptions.second.wait(), limit_s=STOP_LIMIT_S)


async def _order_stop(stack: Stack, jobs: tuple[KnownJob, ...], name: str, told: set[JobUid]) -> None:
    """Ask for the end of each job, and note in ``told`` whose order the bus has."""
    async with connected(stack.address) as client:
        await listen(client, jobs)
        lines = "; ".join(f"{_called(job, jobs)}, {shortened(job.view.line(), show.LONGEST)}" for job in jobs)
        write(f"{name}: stopping {counted(len(jobs), 'job')} first; once more ends everything at once: {lines}")
        for job in jobs:
            await client.say(order(StopJob, stack.address.pool, job=job.ref, reason=f"{name} to keepstep up"))
            told.add(job.ref.uid)


def _called(job: KnownJob, jobs: Sequence[KnownJob]) -> str:
    """Return the job's name, with its uid where others have the same."""
    alike = sum(one.ref.name == job.ref.name for one in jobs) > 1
    return f"{job.ref.name} {show.short(job.ref.uid)}" if alike else job.ref.name


async def _living(stack: Stack, interruptions: Interruptions) -> tuple[KnownJob, ...] | None:
    """Return the jobs that have not ended; None where the bus does not tell in time, or nobody is to wait for it."""
    found: list[tuple[KnownJob, ...]] = []

    async def read() -> None:
        found.append(tuple(job for job in await fold(history.said(history.Running(stack.address))) if not job.ended))

    await first_of(read(), interruptions.second.wait(), limit_s=READ_LIMIT_S)
    return found[0] if found else None
