"""Where a stack keeps its things, and how other commands find the one that runs.

A stack (of ``keepstep up``, or private to a ``keepstep run``) holds ``stack.lock`` while it lives and says in
``stack.json`` how to reach it. The kernel drops the lock with the process, so a stack that was killed is not found.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pydantic import SecretStr, ValidationError, field_serializer

from keepstep.adapters.local_files import locked
from keepstep.asking.paths import resolved
from keepstep.cli.errors import Failed
from keepstep.cli.on_cluster import needs_bus
from keepstep.contracts.ids import Pool
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.core.naming import SHORTEST_UID, means

DATA = ".keepstep"
"""Default folder, below the working directory, unless KEEPSTEP_DATA names another."""

DEFAULT_POOL = Pool("default")

LOOKS_S = 1.0
"""Other commands look by taking the lock for an instant; a stack that lives holds it for good."""


class StackAddress(Frozen):
    """How to reach a stack."""

    pid: int
    url: SecretStr
    pool: Pool
    folder: Path
    job: JobRef | None = None
    """The job of a private stack; None for ``keepstep up``."""
    console: str = ""
    """Where its console is served; empty until it is."""

    @property
    def cluster(self) -> Path:
        """The folder of the stack's local nodes."""
        return self.folder / "cluster"

    @field_serializer("url", when_used="json")
    def _written(self, url: SecretStr) -> str:
        return url.get_secret_value()


def data_folder(data: Path | None) -> Path:
    """Return the folder that everything lives below, as an absolute path."""
    return resolved(data or Path(os.environ.get("KEEPSTEP_DATA", DATA)))


def runs_folder(data: Path) -> Path:
    """Return where private runs are kept."""
    return data / "runs"


def run_folder(data: Path, job: JobRef) -> Path:
    """Return the folder of one run."""
    return runs_folder(data) / f"{job.name}-{job.uid[:8]}"


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[IO[str]]:
    """Hold the stack's lock for the block; raises Failed if another living stack holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stack.lock").open("a") as lock:
        if not locked(lock, within_s=LOOKS_S):
            raise Failed(f"another keepstep runs in {folder}; stop it or choose another --data")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield lock


def announce(address: StackAddress) -> None:
    """Write ``stack.json`` for other commands of the same user; it holds the token."""
    draft = address.folder / f"stack.json.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(address.model_dump_json())
    draft.replace(address.folder / "stack.json")


def find_up(data: Path) -> StackAddress | None:
    """Return the running ``keepstep up`` of this data folder, or None."""
    return _living(data)


def find(data: Path, job: str | None = None) -> StackAddress:
    """Return the stack to talk to: the private one of ``job``, else ``up``, else the newest private one.

    Raises Failed if none runs.
    """
    return find_all(data, job)[0]


def find_all(data: Path, job: str | None = None) -> tuple[StackAddress, ...]:
    """Return every stack that may know ``job``, the likeliest first: its private ones, then ``up``.

    Without a job: ``up``, then the private ones, newest first. Raises Failed if none runs.
    """
    private = [one for folder in _newest_first(runs_folder(data)) if (one := _living(folder)) is not None]
    shared = [] if (up := find_up(data)) is None else [up]
    if job is None:
        found = [*shared, *private]
    else:
        found = [*(one for one in private if one.job is not None and means(job, one.job)), *shared]
    if not found:
        raise Failed(_missing(data, job))
    return tuple(found)


def _missing(data: Path, job: str | None) -> str:
    """Return why there is no stack to talk to, and what to do."""
    if job is not None and told_runs(data, job):
        return f"job {job} has ended; keepstep job list shows how"
    if job is not None and told_runs(data) and ended_up(data) is None:
        return f"there is no job {job} in {data}; keepstep job list shows which there are"
    missing = "no keepstep runs" if job is None else f"no running keepstep has a job {job}"
    return f"{missing} in {data}; start keepstep up or keepstep run, or name its folder with --data"


def address(data: Path, job: str | None = None) -> StackAddress:
    """Return the stack to talk to: the one of KEEPSTEP_NATS_URL and KEEPSTEP_POOL, else one that runs in ``data``.

    Raises Failed if there is none.
    """
    return addresses(data, job)[0]


def addresses(data: Path, job: str | None = None) -> tuple[StackAddress, ...]:
    """Return every stack that may know the job, the likeliest first. Raises Failed if there is none.

    KEEPSTEP_CLUSTER, where it names a Kubernetes, has a bus of its own, and stacks of this machine know nothing of it.
    """
    needs_bus(None)
    if url := os.environ.get("KEEPSTEP_NATS_URL"):
        pool = Pool(os.environ.get("KEEPSTEP_POOL", DEFAULT_POOL))
        return (StackAddress(pid=0, url=SecretStr(url), pool=pool, folder=data),)
    return find_all(data, job)


def cluster_of(where: StackAddress) -> Path:
    """Return the folder of a stack's local nodes: KEEPSTEP_CLUSTER's, else its own."""
    return named_cluster() or where.cluster


def named_cluster() -> Path | None:
    """Return the folder of the local nodes that KEEPSTEP_CLUSTER names, or None."""
    named = os.environ.get("KEEPSTEP_CLUSTER", "")
    return Path(named.removeprefix("local:")) if named.startswith("local:") else None


def ended_up(data: Path) -> StackAddress | None:
    """Return the address that the last ``keepstep up`` of this folder had, if it ended and left its stream."""
    there = _living(data) is None and stream_folder(data).is_dir() and (data / "stack.json").exists()
    return address_of(data) if there else None


def address_of(folder: Path) -> StackAddress:
    """Return what the stack of a folder said, alive or not, of how to reach it. Raises Failed if there was none."""
    try:
        return StackAddress.model_validate_json((folder / "stack.json").read_bytes())
    except (OSError, ValidationError) as error:
        raise Failed(f"no stack has left anything in {folder}") from error


def stream_folder(folder: Path) -> Path:
    """Return where the embedded bus of a stack keeps its streams."""
    return folder / "nats" / "jetstream"


def last_sign(folder: Path) -> float:
    """Return when a stack last wrote its log, or a run its story: epoch seconds, 0 for neither."""
    signs = (folder / "services.log", folder / "events.jsonl")
    return max((sign.stat().st_mtime for sign in signs if sign.exists()), default=0.0)


def finished_run(data: Path, job: str | None = None) -> Path | None:
    """Return the folder of the newest run (of ``job``) that left its events, or None."""
    return next(iter(told_runs(data, job)), None)


def told_runs(data: Path, job: str | None = None) -> tuple[Path, ...]:
    """Return the folders of all runs (of ``job``), living ones too, that have written events; newest first."""
    found = (folder for folder in _newest_first(runs_folder(data)) if (folder / "events.jsonl").exists())
    return tuple(folder for folder in found if job is None or _named(folder, job))


def _named(folder: Path, job: str) -> bool:
    name, _, digits = folder.name.rpartition("-")
    return job == name or (len(job) >= SHORTEST_UID and job.startswith(digits))


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/"), key=_written, reverse=True)


def _written(path: Path) -> float:
    """Return when a folder was last written to: epoch seconds, 0 for one that somebody deletes just now."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _living(folder: Path) -> StackAddress | None:
    try:
        with (folder / "stack.lock").open(errors="replace") as lock:
            holder = lock.read(20)
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
    except FileNotFoundError:
        return None
    except BlockingIOError:
        with contextlib.suppress(FileNotFoundError, ValidationError):
            address = StackAddress.model_validate_json((folder / "stack.json").read_bytes())
            # Until a stack that comes up has said its address, there lies the one of its predecessor.
            return address if holder in ("", str(address.pid)) else None
    return None
