"""The plan board: desired state of every job's ranks, one small head per job and one entry per task (PROTOCOL 4)."""

import logging
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Protocol, TypeVar

from nats.js import JetStreamContext
from nats.js.kv import KeyValue
from pydantic import ValidationError

from keepstep.adapters.nats_errors import translated
from keepstep.adapters.nats_keys import newest
from keepstep.contracts.ids import JobUid, Pool, TaskUid, subject_token
from keepstep.contracts.model import Frozen, mistakes
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.ports.errors import Transient
from keepstep.runtime import names
from keepstep.runtime.connection import Link
from keepstep.runtime.tail import Reading, follow
from keepstep.runtime.tasks import side_by_side

P = TypeVar("P", bound=Frozen)

_log = logging.getLogger(__name__)

REREAD = timedelta(seconds=0.5)
"""After which a garbled entry is read again; its writer compares the board every few seconds."""
AT_ONCE = 50
"""Entries written together: each waits 4 ms for the disk, and the last must be answered well within 2 s."""


class PlanBoard(Protocol):
    """Where the scheduler-adapter writes plans and agents read them; every method raises Transient when cut off."""

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = (), *, again: bool = False) -> None:
        """Write the entries, then the head; an older plan than the one on the board (generation, phase) is dropped.

        So is the plan that stands there already, unless it is to be written ``again``, over what somebody garbled.
        """

    async def read(self, job: JobUid) -> PlanHead | None:
        """Return the job's current head, or None before the first plan."""

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the current plan has for one task, or None; raises Transient also for what is garbled."""

    def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the current head, if any, and then every change, for ever: outages and restarts end nothing.

        A head may be yielded twice and intermediate heads may be skipped; the newest is always yielded.
        """

    async def remove(self, job: JobUid) -> None:
        """Take the job's head and entries off the board; absent is fine."""


class NatsPlanBoard:
    """The board in a key-value bucket of the bus: head under the job's uid, entries under job and task uid."""

    def __init__(self, js: JetStreamContext, link: Link, pool: Pool) -> None:
        self._js = js
        self._link = link
        self._bucket = names.plans_bucket(pool)
        self._opened: KeyValue | None = None

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = (), *, again: bool = False) -> None:
        """Write the entries, then the head; an older plan than the one on the board (generation, phase) is dropped.

        So is the plan that stands there already, unless it is to be written ``again``, over what somebody garbled.
        The head is compared and set, so that of two writers the one with the older plan cannot win.
        """
        current, revision = await self._head(head.job)
        if current is not None and (current.place > head.place or (current.digest == head.digest and not again)):
            return
        with translated(f"publishing the plan of {head.job}"):
            bucket = await self._open()

            async def put(entry: PlanEntry) -> None:
                await bucket.put(_entry_key(entry.job, entry.task), entry.model_dump_json().encode())

            await side_by_side(put, entries, most=AT_ONCE)
            await bucket.update(_head_key(head.job), head.model_dump_json().encode(), last=revision)

    async def read(self, job: JobUid) -> PlanHead | None:
        """Return the job's current head, or None before the first plan."""
        head, _ = await self._head(job)
        return head

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the current plan has for one task, or None; raises Transient also for what is garbled."""
        value, _ = await self._get(_entry_key(job, task), direct=True)
        entry = _read(PlanEntry, value)
        if value and (entry is None or (entry.job, entry.task) != (job, task)):
            raise Transient(f"the plan of task {task} cannot be read and is awaited anew", retry_after=REREAD)
        return entry

    async def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the current head, if any, and then every change, for ever: outages and restarts end nothing."""
        subject = f"$KV.{self._bucket}.{_head_key(job)}"
        reading = Reading(stream=f"KV_{self._bucket}", subject=subject, last_only=True)
        async for stored in follow(self._js, self._link, reading):
            head = _head_of(job, stored.body)
            if head is not None:
                yield head

    async def remove(self, job: JobUid) -> None:
        """Take the job's head and entries off the board; absent is fine."""
        prefix = f"$KV.{self._bucket}.{_head_key(job)}"
        with translated(f"removing the plan of {job}"):
            await self._js.purge_stream(f"KV_{self._bucket}", subject=prefix)
            await self._js.purge_stream(f"KV_{self._bucket}", subject=f"{prefix}.>")

    async def _head(self, job: JobUid) -> tuple[PlanHead | None, int]:
        value, revision = await self._get(_head_key(job))
        return _head_of(job, value), revision

    async def _get(self, key: str, *, direct: bool = False) -> tuple[bytes | None, int]:
        """Return value and revision; after a deletion there is no value, and its marker's revision counts."""
        with translated(f"reading plan {key}"):
            found = await newest(self._js, self._bucket, key, direct=direct)
        return (None, 0) if found is None else (found.value or None, found.revision)

    async def _open(self) -> KeyValue:
        if self._opened is None:
            self._opened = await self._js.key_value(self._bucket)
        return self._opened


def _read(model: type[P], value: bytes | None) -> P | None:
    """Return what stands on the board, or None for nothing and for what is garbled, which its writer puts right."""
    try:
        return model.model_validate_json(value) if value else None
    except ValidationError as error:
        _log.error(
            "a %s on the plan board cannot be read and is awaited anew because=%s", model.__name__, mistakes(error)
        )
        return None


def _head_of(job: JobUid, value: bytes | None) -> PlanHead | None:
    """Return the job's head, or None for what cannot be read or is of another job: its writer puts that right."""
    head = _read(PlanHead, value)
    if head is not None and head.job != job:
        _log.error("the plan board has under job %s the plan of job %s", job, head.job)
        return None
    return head


def _head_key(job: JobUid) -> str:
    return subject_token(job)


def _entry_key(job: JobUid, task: TaskUid) -> str:
    return f"{subject_token(job)}.{subject_token(task)}"
