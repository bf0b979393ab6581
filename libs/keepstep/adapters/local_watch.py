"""Watches the supervisors of all local nodes, and buries the tasks of a node whose supervisor is dead.

On one machine a lost node can be powered off for certain: whatever still carries its mark is killed, and that no such
process is left is the proof that its ranks may be given out again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path

from keepstep.adapters.local_files import NodeFolder, folders, live
from keepstep.adapters.local_processes import of_node, sweep
from keepstep.adapters.local_supervisor import buried
from keepstep.adapters.local_task import PROOF_LIMIT_S
from keepstep.adapters.local_wire import Changed, Done, Listing, Refused, WatchTasks, connect
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import TaskStatus
from keepstep.ports.errors import Transient

LOOK_EVERY_S = 0.5
"""How often new node folders and returned supervisors are looked for; losses are noticed at once."""
CLOSED_S = 0.02
"""A dying process closes its socket an instant before its lock, or after it."""

Say = Callable[[TaskStatus], None]


async def watch(cluster: Path) -> AsyncIterator[TaskStatus]:
    """Yield every task of every node, then every change; runs until closed."""
    queue: asyncio.Queue[TaskStatus | BaseException] = asyncio.Queue()
    watches: dict[NodeName, asyncio.Task[None]] = {}

    async def look() -> None:
        while True:
            for folder in folders(cluster):
                if folder.name not in watches or watches[folder.name].done():
                    watches[folder.name] = _start(_watch_node(folder, queue.put_nowait), queue)
            await asyncio.sleep(LOOK_EVERY_S)

    looking = _start(look(), queue)
    try:
        while True:
            item = await queue.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        for task in (looking, *watches.values()):
            task.cancel()
        await asyncio.gather(looking, *watches.values(), return_exceptions=True)


def _start(
    work: Coroutine[None, None, None], queue: "asyncio.Queue[TaskStatus | BaseException]"
) -> "asyncio.Task[None]":
    """Start a background task whose error reaches the reader, who would otherwise wait for ever."""

    def ended(task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            queue.put_nowait(error)

    task = asyncio.create_task(work)
    task.add_done_callback(ended)
    return task


async def _watch_node(folder: NodeFolder, say: Say) -> None:
    buried_already = False
    while folder.root.is_dir():
        with contextlib.suppress(Transient):
            await _follow(folder, say)
        await asyncio.sleep(CLOSED_S)
        if folder.supervised():
            buried_already = False
        elif buried_already:
            await asyncio.sleep(LOOK_EVERY_S)
        else:
            buried_already = await _bury(folder, say)


async def _follow(folder: NodeFolder, say: Say) -> None:
    async with connect(folder.socket) as link:
        await link.send(WatchTasks())
        while True:
            match await link.receive():
                case Listing(tasks=tasks):
                    for task in tasks:
                        say(task)
                case Changed(task=task):
                    say(task)
                case Done() | Refused() as reply:
                    raise Transient(f"{folder.name} answered a watch with {reply}")


async def _bury(folder: NodeFolder, say: Say) -> bool:
    """Say how the tasks of a lost node stand: gone, with proof if it comes in 2 s, else now and the proof later.

    Returns False if a supervisor came back meanwhile, which then does it. It is held down while we kill, so that
    nothing it starts is taken for a leftover.
    """
    lost = folder.statuses()
    for status in lost:
        if not live(status):
            say(status)
    suspects = [buried(status, proven=False) for status in lost if live(status)]
    unproven = asyncio.get_running_loop().call_later(PROOF_LIMIT_S, _say_all, suspects, say)
    rounds = sweep(of_node(folder.root))
    try:
        while True:
            with folder.held_down() as dead:
                if not dead:
                    return False
                pause = next(rounds, None)
                if pause is None:
                    _say_all([_written(folder, replace(status, proven=True)) for status in suspects], say)
                    return True
            await asyncio.sleep(pause)
    finally:
        unproven.cancel()


def _written(folder: NodeFolder, status: TaskStatus) -> TaskStatus:
    """Write down when the loss was noticed, so that a later listing says the same moment.

    The loss is said all the same where that fails: the disk is full, or the folder was taken away meanwhile.
    """
    with contextlib.suppress(OSError):
        folder.keep(status)
    return status


def _say_all(statuses: Sequence[TaskStatus], say: Say) -> None:
    for status in statuses:
        say(status)
