"""The bindings: which task each pod is, where pods are made by a job controller and only then given their tasks.

The scheduler-adapter writes, one key per pod uid; the agent in the pod reads its own and nothing else.
"""

import logging
from collections.abc import AsyncIterator

from nats.js import JetStreamContext
from nats.js.errors import NoKeysError
from nats.js.kv import KeyValue
from pydantic import ValidationError

from keepstep.adapters.nats_errors import translated
from keepstep.adapters.nats_keys import newest
from keepstep.contracts.ids import Pool, key_of, subject_token
from keepstep.contracts.model import mistakes
from keepstep.contracts.topology import TaskLaunch
from keepstep.runtime import names
from keepstep.runtime.connection import Link
from keepstep.runtime.tail import Reading, follow

_log = logging.getLogger(__name__)


class NatsBindings:
    """Port Bindings in a key-value bucket of the bus, whose readers may follow their own."""

    def __init__(self, js: JetStreamContext, link: Link, pool: Pool) -> None:
        self._js = js
        self._link = link
        self._bucket = names.pods_bucket(pool)
        self._opened: KeyValue | None = None

    async def bind(self, pod: str, launch: TaskLaunch) -> None:
        """Say that the pod with this uid is this task; an older word on it is replaced."""
        with translated(f"binding pod {pod}"):
            await (await self._open()).put(subject_token(pod), launch.model_dump_json().encode())

    async def unbind(self, pod: str) -> None:
        """Forget a pod that is gone; absent is fine."""
        with translated(f"unbinding pod {pod}"):
            await self._js.purge_stream(f"KV_{self._bucket}", subject=f"$KV.{self._bucket}.{subject_token(pod)}")

    async def pods(self) -> frozenset[str]:
        """Return the uids of all pods that are bound."""
        with translated("listing the bound pods"):
            try:
                return frozenset(key_of(token) for token in await (await self._open()).keys())
            except NoKeysError:
                return frozenset()

    async def bound(self, pod: str) -> TaskLaunch | None:
        """Return the task of a pod, or None while it has none."""
        with translated(f"reading the task of pod {pod}"):
            found = await newest(self._js, self._bucket, subject_token(pod))
        return None if found is None else _read(found.value)

    async def watch(self, pod: str) -> AsyncIterator[TaskLaunch]:
        """Yield the pod's task as soon as it has one, and each later one, for ever; outages end nothing."""
        reading = Reading(
            stream=f"KV_{self._bucket}", subject=f"$KV.{self._bucket}.{subject_token(pod)}", last_only=True
        )
        async for stored in follow(self._js, self._link, reading):
            launch = _read(stored.body)
            if launch is not None:
                yield launch

    async def _open(self) -> KeyValue:
        if self._opened is None:
            self._opened = await self._js.key_value(self._bucket)
        return self._opened


def _read(value: bytes | None) -> TaskLaunch | None:
    """Return the task, or None for none and for what is garbled: its writer compares and binds again."""
    try:
        return TaskLaunch.read(value) if value else None
    except ValidationError as error:
        _log.error("a binding cannot be read because=%s", mistakes(error))
        return None
