"""``python -m keepstep.adapters.local_node --dir NODEDIR``: the process that stands for one local node.

It dies with its parent and takes everything on its node along. The parent-death signal is SIGCONT, not SIGKILL: it
wakes a stopped supervisor, which then sees through the parent's pidfd that the parent is gone and ends its tasks first,
strays included. A signal alone would also come when only the thread that started us ends.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from keepstep.adapters.local_children import Children
from keepstep.adapters.local_files import NodeFolder, NodeRecord, locked
from keepstep.adapters.local_processes import die_with
from keepstep.adapters.local_supervisor import Supervisor
from keepstep.adapters.local_task import Commands

LOCK_LIMIT_S = 10.0
"""Others look by taking the lock for an instant or the time of a scan; a second supervisor holds it for good."""

_log = logging.getLogger(__name__)


def main() -> int:
    """Run the supervisor of a node until SIGTERM, SIGINT or the end of its parent; return the exit code."""
    options = _parse(sys.argv[1:])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    folder = NodeFolder(Path(options.dir).resolve())
    folder.tasks.mkdir(parents=True, exist_ok=True)
    with folder.lock.open("a+") as lock:
        if not locked(lock, within_s=LOCK_LIMIT_S):
            sys.stderr.write(f"node {folder.name} has a supervisor already: {folder.lock} is held\n")
            return 1
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        record = folder.change(lambda old: _record(old, folder, options))
        commands = Commands.model_validate_json(options.commands) if options.commands else Commands()
        supervisor = Supervisor(folder, slots=record.slots, commands=commands, children=Children())
        asyncio.run(_run(supervisor, parent=options.parent, ready=options.ready_fd, grace_s=options.grace))
    return 0


async def _run(supervisor: Supervisor, *, parent: int | None, ready: int | None, grace_s: float) -> None:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[bool] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _resolve, stop, True)
    if parent is not None:
        _watch_parent(parent, stop)
    await supervisor.open()
    if ready is not None:
        os.write(ready, b"1")
        os.close(ready)
    if await stop:
        await supervisor.close(grace_s=grace_s)
    await supervisor.end_at_once()


def _resolve(stop: "asyncio.Future[bool]", orderly: bool) -> None:
    if not stop.done():
        stop.set_result(orderly)


def _watch_parent(parent: int, stop: "asyncio.Future[bool]") -> None:
    """Resolve ``stop`` to False when the parent process ends."""
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(descriptor)
        _resolve(stop, False)

    descriptor = os.pidfd_open(parent)
    die_with(parent, signal.SIGCONT)()
    loop.add_reader(descriptor, ended)


def _record(old: NodeRecord | None, folder: NodeFolder, options: argparse.Namespace) -> NodeRecord:
    """Return the node's record: what is said now, else what was; the mark stays."""
    return NodeRecord(
        name=folder.name,
        group=options.group if options.group is not None else old and old.group,
        slots=options.slots or (old.slots if old else 1),
        mark=old and old.mark,
    )


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m keepstep.adapters.local_node", description=__doc__)
    parser.add_argument("--dir", required=True, help="the node's folder; its name is the node's")
    parser.add_argument("--group", help="the node group; default: the one of last time")
    parser.add_argument("--slots", type=int, help="how many tasks at once; default: as last time, else 1")
    parser.add_argument("--commands", help="JSON of what to start for a task, for tests")
    parser.add_argument("--grace", type=float, default=5.0, help="seconds that tasks get at SIGTERM")
    parser.add_argument("--parent", type=int, help="end when this process, our parent, has ended")
    parser.add_argument("--ready-fd", type=int, help="write a byte here once we listen")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
