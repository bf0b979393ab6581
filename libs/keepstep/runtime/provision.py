"""The one place that creates streams and buckets.

What exists is left as it is, whoever made it and however; only bounds that an older version did not set are set.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, StorageType, StreamConfig
from nats.js.errors import BadRequestError, NotFoundError, ServerError

from keepstep.adapters.nats_errors import translated
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.tasks import within

KEEP = timedelta(days=30)
STREAM_BYTES = 1024**3
"""About two million messages; new ones are refused beyond (discard new), and agents hold what is refused."""
DEAD_LETTER_BYTES = 256 * 1024**2
"""A flood of garbled messages of 1 MB each pushes out the oldest letters and not the disk's other users."""
PER_SUBJECT = 10_000
"""Of one type about one job: a noisy key pushes out its own oldest messages and nobody else's."""
DUPLICATE_WINDOW = timedelta(minutes=10)
"""How long the bus itself knows a message id; longer outages are covered by the folds."""
_IN_USE = 10058
_NO_STORE = 10049
"""The server clears the folders of deleted streams meanwhile, and the parent of a new one may go with them."""
_PAUSES_S = (0.05, 0.2, 1.0)
"""Before each further try to make a store; a disk that refuses for good is told after them."""


_EDIT_S = 2.0
"""On a bus with rights for each service nobody may change a stream, and the server answers such a try with silence."""

_log = logging.getLogger(__name__)


async def provision(js: JetStreamContext, pool: Pool, *, replicas: int = 1) -> None:
    """Create the pool's streams and buckets where they are missing, each on so many servers of the bus.

    Raises Transient while the bus is away.
    """
    with translated(f"provisioning pool {pool}"):
        await asyncio.gather(*(_create(js, replace(config, num_replicas=replicas)) for config in _wanted(pool)))


def _wanted(pool: Pool) -> Iterable[StreamConfig]:
    yield StreamConfig(
        name=names.stream_name(pool),
        subjects=[names.stream_subjects(pool)],
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_age=KEEP.total_seconds(),
        max_bytes=STREAM_BYTES,
        max_msgs_per_subject=PER_SUBJECT,
        duplicate_window=DUPLICATE_WINDOW.total_seconds(),
        allow_direct=True,
        allow_atomic=True,  # as of 2.12; an older bus passes over it
    )
    yield StreamConfig(
        name=names.deadletter_stream(pool),
        subjects=[names.deadletter_subject(pool, "*")],
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_age=KEEP.total_seconds(),
        max_bytes=DEAD_LETTER_BYTES,
        max_msgs_per_subject=PER_SUBJECT,
        duplicate_window=DUPLICATE_WINDOW.total_seconds(),
        allow_direct=True,
    )
    yield _bucket(names.plans_bucket(pool))
    yield _bucket(names.leases_bucket(pool), direct=False)
    yield _bucket(names.pods_bucket(pool))
    for service in Service:
        yield _bucket(names.folds_room(pool, service), direct=False)


def _bucket(name: str, *, direct: bool = True) -> StreamConfig:
    """Return the stream behind a key-value bucket with time-to-live per key.

    Without limit markers: with them nats-py 2.16 reads an expired key as an entry whose value is None and cannot
    create it again. By a direct get an agent is told one key and no other; ``rights`` says why leases and folds have
    none.
    """
    return StreamConfig(
        name=f"KV_{name}",
        subjects=[f"$KV.{name}.>"],
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_msgs_per_subject=1,
        allow_direct=direct,
        allow_rollup_hdrs=True,
        allow_msg_ttl=True,
        deny_delete=True,
        duplicate_window=DUPLICATE_WINDOW.total_seconds(),
    )


async def _create(js: JetStreamContext, config: StreamConfig) -> None:
    for pause in _PAUSES_S:
        try:
            await _create_once(js, config)
        except ServerError as error:
            if error.err_code != _NO_STORE:
                raise
        else:
            return
        await asyncio.sleep(pause)
    await _create_once(js, config)


async def _create_once(js: JetStreamContext, config: StreamConfig) -> None:
    try:
        there = (await js.stream_info(config.name or "")).config
    except NotFoundError:
        try:
            await js.add_stream(config)
        except BadRequestError as error:
            if error.err_code != _IN_USE:
                raise
    else:
        if (better := bounded(there, config)) is not None:
            await _edit(js, better)


def bounded(there: StreamConfig, wanted: StreamConfig) -> StreamConfig | None:
    """Return an existing stream with those of the wanted bounds that it has none of, or None where it lacks none.

    A bound that somebody set, be it wider or narrower, is a decision that stays.
    """
    sizes = ("max_bytes", "max_age", "max_msgs_per_subject")
    missing = {name: getattr(wanted, name) for name in sizes if _is_bound(wanted, name) and not _is_bound(there, name)}
    if "max_bytes" in missing:
        missing["discard"] = wanted.discard
    return replace(there, **missing) if missing else None


def _is_bound(config: StreamConfig, name: str) -> bool:
    return (getattr(config, name) or 0) > 0


async def _edit(js: JetStreamContext, config: StreamConfig) -> None:
    """Change a stream's bounds; where the bus lets us not, a person is told, and nothing waits for them."""
    try:
        await within(js.update_stream(config), _EDIT_S)
    except (NatsError, TimeoutError) as error:
        _log.warning(
            "stream=%s has no bound of an older version's making and cannot be given one because=%s; "
            "remedy: nats stream edit %s --max-bytes=%s --discard=old",
            config.name,
            error or type(error).__name__,
            config.name,
            config.max_bytes,
        )
    else:
        _log.info("stream=%s is bounded: bytes=%s age_s=%s", config.name, config.max_bytes, config.max_age)
