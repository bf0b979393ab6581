"""The folder of a local node: what outlives its supervisor, and how others see that the supervisor is dead.

The mark of a cordon is kept here and not in the supervisor, because a lost node must be cordoned and released too.
Layout: supervisor.lock (flock held while the supervisor lives; its pid), supervisor.sock, supervisor.log, node.json and
its copy, tasks/<task uid>/{task.json, status.json, launcher.log, agent.log, ...}.
"""

import contextlib
import fcntl
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import Field, TypeAdapter, ValidationError

from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import CordonMark, TaskPhase, TaskStatus
from keepstep.ports.errors import Permanent

_RECORD, _RECORD_COPY = "node.json", "node-copy.json"
_STATUS = TypeAdapter(TaskStatus)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

_log = logging.getLogger(__name__)


class NodeRecord(Frozen):
    """What is known of a node whether it lives or not; ``slots`` is how many tasks it takes at once."""

    name: NodeName
    group: str | None = None
    slots: int = Field(default=1, ge=1)
    mark: CordonMark | None = None


@dataclass(frozen=True)
class NodeFolder:
    """The folder of one node."""

    root: Path

    @property
    def name(self) -> NodeName:
        """The node's name: its folder's."""
        return NodeName(self.root.name)

    @property
    def socket(self) -> Path:
        """Where the supervisor listens."""
        return self.root / "supervisor.sock"

    @property
    def lock(self) -> Path:
        """What the supervisor holds while it lives."""
        return self.root / "supervisor.lock"

    @property
    def tasks(self) -> Path:
        """The folder of task folders."""
        return self.root / "tasks"

    def task(self, uid: TaskUid) -> Path:
        """Return the folder of a task; raises Permanent for a uid that is no plain file name."""
        return self.tasks / plain(uid, "task uid")

    def record(self) -> NodeRecord | None:
        """Return the record, or None if there is no such node; of a garbled one its copy, else the bare name."""
        try:
            return NodeRecord.model_validate_json((self.root / _RECORD).read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            _log.error("%s is garbled: its copy is taken", self.root / _RECORD)
        with contextlib.suppress(FileNotFoundError, ValidationError):
            return NodeRecord.model_validate_json((self.root / _RECORD_COPY).read_bytes())
        return NodeRecord(name=self.name)

    def change(self, change: Callable[[NodeRecord | None], NodeRecord]) -> NodeRecord:
        """Replace the record by ``change`` of it; writers exclude each other and readers see one or the other."""
        with (self.root / "node.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            record = change(self.record())
            for name in (_RECORD, _RECORD_COPY):  # one after the other: a crash leaves one of them whole
                replace(self.root / name, record.model_dump_json().encode(), durable=True)
        return record

    def supervised(self) -> bool:
        """Return whether a supervisor lives, answering or not."""
        with self.held_down() as dead:
            return not dead

    @contextlib.contextmanager
    def held_down(self) -> Iterator[bool]:
        """Keep a supervisor from starting for the block, unless one lives; yields whether there is none."""
        with contextlib.ExitStack() as stack:
            dead = True
            with contextlib.suppress(FileNotFoundError):  # the folder was taken away
                lock = stack.enter_context(self.lock.open("a"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    dead = False
            yield dead

    def supervisor(self) -> int | None:
        """Return the pid of the living supervisor, or None."""
        return int(text) if self.supervised() and (text := self.lock.read_bytes()).isdigit() else None

    def keep(self, status: TaskStatus) -> None:
        """Write down how a task stands."""
        replace(self.task(status.ref.uid) / "status.json", _STATUS.dump_json(status))

    def statuses(self) -> tuple[TaskStatus, ...]:
        """Return how the tasks stood when it was last written down, oldest first; garbled ones are left out.

        Whoever knows the task from elsewhere finds it missing, and the supervisor ends what runs of it.
        """
        found = []
        for path in sorted(self.tasks.glob("*/status.json"), key=_age):
            try:
                found.append(_STATUS.validate_json(path.read_bytes()))
            except FileNotFoundError:
                continue
            except ValidationError:
                _log.error("%s is garbled: its task is not listed", path)
        return tuple(found)

    def prepare(self, launch: TaskLaunch) -> Path:
        """Make the folder of a task, with its ``task.json``, and return it."""
        folder = self.task(launch.task.uid)
        folder.mkdir(parents=True, exist_ok=True)
        task, content = folder / "task.json", launch.model_dump_json().encode()
        if not task.exists() or task.read_bytes() != content:  # a full disk holds up nobody whose file is whole
            replace(task, content)
        return folder


def folders(cluster: Path) -> tuple[NodeFolder, ...]:
    """Return the nodes' folders of a cluster's folder, n2 before n10."""
    found = [NodeFolder(path.parent) for path in (cluster / "nodes").glob("*/node.json")]
    return tuple(sorted(found, key=lambda folder: natural(folder.name)))


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that counts: n2 before n10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name))


def plain(name: str, what: str) -> str:
    """Return ``name`` if it can be a folder's name; raises Permanent otherwise."""
    if not _PLAIN.fullmatch(name):
        raise Permanent(f"{what} {name!r} must be letters, digits, '.', '_' and '-', at most 128 of them")
    return name


def live(status: TaskStatus) -> bool:
    """Return whether a task may still have processes."""
    return not (status.phase is TaskPhase.GONE and status.proven)


def replace(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file so that a reader sees the old or the new content, never a part; ``durable``: after a crash too."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    draft.replace(path)


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Try to hold the lock at ``path`` for the block; yields whether it is held."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def locked(file: IO[str], *, within_s: float) -> bool:
    """Lock the file for as long as it is open, waiting for those who only look; return whether it could be had."""
    until = time.monotonic() + within_s
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.01)  # the kernel waits for a lock without a limit only


def _age(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, path.name
    except FileNotFoundError:
        return 0.0, path.name
