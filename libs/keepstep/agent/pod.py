"""The agent of a pod: which task the pod is comes from the bus, and may come late, anew, or after the agent's restart.

What stands in task.json is what the pod is until the bus says otherwise, so that a restart needs no bus. A pod that is
bound anew has its launcher begin anew: old ranks stopped, old files gone, then the new task.json.
"""

import asyncio
import fcntl
import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path

from pydantic import ValidationError

from keepstep.adapters.unix_socket import short_name
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.topology import TaskLaunch
from keepstep.runtime.tasks import end
from keepstep.trainer.waiting import LOCK
from keepstep.trainer.wire import SOCKET, Do, encode

TASK_FILE = "task.json"
AGENT_FOLDER, AGENT_LOCK = "agent", "lock"
LOOK_S = 0.1
GONE_FOR_S = 3.0
"""A launcher whose lock has been free this long is gone, and what there was to say of its end is said."""

_log = logging.getLogger(__name__)

Live = Callable[[TaskLaunch], Coroutine[object, object, None]]


class Place:
    """What this pod is bound to, as far as is known."""

    def __init__(self) -> None:
        self._launch: TaskLaunch | None = None
        self._changed = asyncio.Event()

    async def follow(self, bindings: AsyncIterator[TaskLaunch]) -> None:
        """Take in what the bus says, for ever."""
        async for launch in bindings:
            self._launch = launch
            self._changed.set()

    async def other_than(self, task: TaskUid | None) -> TaskLaunch:
        """Return the task that the pod is bound to, once that is another."""
        while self._launch is None or self._launch.task.uid == task:
            self._changed.clear()
            await self._changed.wait()
        return self._launch


async def live(task_dir: Path, bindings: AsyncIterator[TaskLaunch], run: Live) -> None:
    """Run the agent of every task that the pod is, one after the other, until the plan ends one."""
    place = Place()
    async with asyncio.TaskGroup() as group:
        following = group.create_task(place.follow(bindings))
        launch = written(task_dir)
        while launch is None or await _bound_anew(launch, place, run):
            launch = await place.other_than(None)
            _log.info("event=bound task=%s job=%s", launch.task.uid, launch.job.name)
            await renew(task_dir, launch)
        following.cancel()


def written(task_dir: Path) -> TaskLaunch | None:
    """Return the task that the pod was given, None before that or where the file is garbled."""
    try:
        return TaskLaunch.read((task_dir / TASK_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


async def renew(task_dir: Path, launch: TaskLaunch) -> None:
    """Make the task directory this task's: end what the launcher has of another, then write task.json in one piece."""
    _take_away(task_dir / TASK_FILE)
    await _launcher_begins_anew(task_dir)
    _clear(task_dir)
    _write(task_dir / TASK_FILE, launch.model_dump_json())


async def until_launcher_ends(task_dir: Path) -> None:
    """Return once a launcher was there and is gone; a container that ended under restartPolicy Never stays so."""
    seen, free_looks = False, 0
    while free_looks * LOOK_S < GONE_FOR_S:
        await asyncio.sleep(LOOK_S)
        held = _held(task_dir / LOCK)
        seen = seen or held
        free_looks = free_looks + 1 if seen and not held else 0


async def _bound_anew(launch: TaskLaunch, place: Place, run: Live) -> bool:
    """Run one task's agent; return whether the pod became another task, False when the plan ended this one."""
    agent = asyncio.ensure_future(run(launch))
    other = asyncio.ensure_future(place.other_than(launch.task.uid))
    try:
        await asyncio.wait({agent, other}, return_when=asyncio.FIRST_COMPLETED)
        if agent.done():
            agent.result()
        return not agent.done()
    finally:
        await end((agent, other))


async def _launcher_begins_anew(task_dir: Path) -> None:
    """Have a launcher that listens stop its ranks and begin anew; return once none listens."""
    while True:
        try:
            with short_name(task_dir / SOCKET) as name:
                reader, writer = await asyncio.open_unix_connection(name)
        except OSError:
            return
        writer.write(encode({"do": Do.RENEW}))
        while await reader.read(1 << 16):
            continue
        writer.close()
        await asyncio.sleep(LOOK_S)


def _take_away(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    """Write the file in one piece, for a launcher that may be another user."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.chmod(0o644)
    draft.replace(path)


def _clear(task_dir: Path) -> None:
    """Take away what an older task left, but not the locks of those who live here."""
    for path in task_dir.iterdir():
        if path.name == AGENT_FOLDER:
            for kept in path.iterdir():
                if kept.name != AGENT_LOCK:
                    kept.unlink()
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def _held(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
