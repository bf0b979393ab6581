"""What each user of the bus may do, as data drawn from who says what: the server holds everybody to it (PROTOCOL 7).

Nobody shares an inbox, so that nobody reads another's answers. A service may write its own words, its own folds and
its own lease; plans and bindings are the scheduler-adapter's alone. What agents may is in ``rights_of_pods``.

The server does not ask where its answer to a request goes. So whoever may write into a bucket has no direct gets on it,
by which what he wrote could speak under any name, and whoever is trusted least (agents of pods, systems outside) has an
account of its own: an answer that leaves it comes back into it. For the same reason nobody subscribes to the stream's
own subjects: a consumer delivers only where somebody listens.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from keepstep.contracts import orders
from keepstep.contracts.events import SAID_BY, DeviceReported
from keepstep.contracts.ids import Pool, subject_token
from keepstep.contracts.message import Order
from keepstep.contracts.subjects import AGENT, PEOPLE, kind_pattern
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names

OPERATOR = "operator"
"""A person who may also replay dead letters, which puts a message back under whatever subject it had."""
OUTSIDE = "outside"
CONSOLE = "console"
DEFAULT = Pool("default")
"""Its users have the plain names; those of another pool bear the pool's."""
ORDERS = tuple(
    name
    for name, each in vars(orders).items()
    if isinstance(each, type) and issubclass(each, Order) and each is not Order
)
"""What people say."""
_API = "$JS.API"


@dataclass(frozen=True)
class Rights:
    """Subjects that a user may publish to and subscribe to; everything else is refused."""

    user: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    responds: bool = False
    """May answer whatever request it heard, once."""


def user_of(who: str, pool: Pool) -> str:
    """Return the name under which a participant of a pool is known to the bus."""
    return who if pool == DEFAULT else f"{who}.{subject_token(pool)}"


def inbox(user: str) -> str:
    """Return the prefix of the subjects on which answers to a user arrive."""
    return f"_INBOX_{subject_token(user)}"


def service_rights(pool: Pool, service: Service, *, folds_on_bus: bool = True) -> Rights:
    """Return a service's rights; ``folds_on_bus`` is False where its folds are kept elsewhere, as in Redis."""
    own = [kind_pattern(pool, kind.__name__, speaker=service) for kind in SAID_BY[service]]
    lease = names.leases_bucket(pool)
    letters = names.deadletter_stream(pool)
    granted = [
        *own,
        names.deadletter_subject(pool, service),
        *_provisioning(pool),
        *_consuming(names.stream_name(pool)),
        f"{_API}.STREAM.MSG.GET.KV_{lease}",
        f"$KV.{lease}.{service}",
        f"{_API}.STREAM.INFO.{letters}",
    ]
    if folds_on_bus:
        granted += _bucket(names.folds_room(pool, service))
    if service is Service.SCHEDULER_ADAPTER:
        for bucket in (names.plans_bucket(pool), names.pods_bucket(pool)):
            granted += [*_bucket(bucket), f"{_API}.STREAM.PURGE.KV_{bucket}"]
    heard = [names.telemetry_subject(pool, "*")] if service is Service.DETECTOR else []
    return _rights(user_of(service, pool), granted, heard)


def agents_rights(pool: Pool) -> Rights:
    """Return what all agents of a pool may do together, for one machine, where no agent need be kept from another."""
    words = [kind_pattern(pool, kind.__name__, speaker=AGENT) for kind in SAID_BY[AGENT]]
    reads = [part for bucket in (names.plans_bucket(pool), names.pods_bucket(pool)) for part in _reading_keys(bucket)]
    telling = [*words, names.telemetry_subject(pool, "*")]
    return _rights(user_of(AGENT, pool), [*telling, *reads, _time(pool)], [])


def _time(pool: Pool) -> str:
    """Return what is asked for the bus's time of day: see ``client.Client.time``."""
    return f"{_API}.STREAM.INFO.KV_{names.plans_bucket(pool)}"


def people_rights(pool: Pool) -> Rights:
    """Return what the command line and boards may do: give orders, read everything, and drop dead letters."""
    given = [kind_pattern(pool, name, speaker=PEOPLE) for name in ORDERS]
    injected = kind_pattern(pool, DeviceReported.__name__, speaker=AGENT)
    letters = names.deadletter_stream(pool)
    gets = [f"{_API}.STREAM.MSG.GET.{stream}" for stream in (letters, names.stream_name(pool))]
    granted = [
        *given,
        injected,
        *_watching(names.stream_name(pool)),
        *_watching(letters),
        *gets,
        f"{_API}.STREAM.MSG.DELETE.{letters}",
        *_reading_keys(names.plans_bucket(pool)),
    ]
    return _rights(user_of(PEOPLE, pool), granted, [names.telemetry_subject(pool, "*")])


def console_rights(pool: Pool) -> Rights:
    """Return what the console may do: read at its own pace, say people's orders, systems' reports and who came in.

    Who may have it do what is the console's own matter.
    """
    given = [kind_pattern(pool, name, speaker=PEOPLE) for name in ORDERS]
    reported = [kind_pattern(pool, kind.__name__, speaker=OUTSIDE) for kind in SAID_BY[OUTSIDE]]
    own = [kind_pattern(pool, kind.__name__, speaker=CONSOLE) for kind in SAID_BY[CONSOLE]]
    stream = names.stream_name(pool)
    reads = [*_watching(stream), f"$JS.FC.{stream}.>", _time(pool)]
    return _rights(user_of(CONSOLE, pool), [*own, *given, *reported, *reads], [names.telemetry_subject(pool, "*")])


def operator_rights(pool: Pool) -> Rights:
    """Return what a person may who also replays dead letters; plans and bindings stay out of reach."""
    people = people_rights(pool)
    return _rights(user_of(OPERATOR, pool), [names.stream_subjects(pool), *people.publish], people.subscribe[1:])


def outside_rights(pool: Pool) -> Rights:
    """Return what systems outside may do: report faults."""
    words = [kind_pattern(pool, kind.__name__, speaker=OUTSIDE) for kind in SAID_BY[OUTSIDE]]
    return _rights(user_of(OUTSIDE, pool), words, [])


def all_rights(*pools: Pool, folds_on_bus: bool = True) -> tuple[Rights, ...]:
    """Return the rights of every user that has a password of its own, in the order of their names.

    For one machine: all agents of a pool share a user. A cluster's bus is ``rights_of_pods.cluster_rights``.
    """
    found = [rights for pool in pools for rights in _of_pool(pool, folds_on_bus=folds_on_bus)]
    return tuple(sorted(found, key=lambda rights: rights.user))


def _of_pool(pool: Pool, *, folds_on_bus: bool) -> Iterable[Rights]:
    for service in Service:
        yield service_rights(pool, service, folds_on_bus=folds_on_bus)
    yield from (
        agents_rights(pool),
        people_rights(pool),
        operator_rights(pool),
        outside_rights(pool),
        console_rights(pool),
    )


def _rights(user: str, publish: Iterable[str], subscribe: Iterable[str]) -> Rights:
    return Rights(user, tuple(dict.fromkeys(publish)), (f"{inbox(user)}.>", *subscribe))


def _provisioning(pool: Pool) -> list[str]:
    """Whoever comes first makes what is missing; what exists cannot be changed by this."""
    buckets = (names.plans_bucket(pool), names.pods_bucket(pool), names.leases_bucket(pool))
    folds = tuple(names.folds_room(pool, service) for service in Service)
    streams = (names.stream_name(pool), names.deadletter_stream(pool), *(f"KV_{name}" for name in buckets + folds))
    return [f"{_API}.STREAM.{verb}.{stream}" for stream in streams for verb in ("INFO", "CREATE")]


def _watching(stream: str) -> list[str]:
    """To read a stream, or what of it has one subject, by a consumer without acknowledgements."""
    return [
        f"{_API}.STREAM.INFO.{stream}",
        f"{_API}.CONSUMER.INFO.{stream}.*",
        f"{_API}.CONSUMER.CREATE.{stream}.>",
    ]


def _consuming(stream: str) -> list[str]:
    """To follow a stream by durable consumers; the server tells one service's from another's by no permission."""
    return [
        *_watching(stream),
        f"{_API}.CONSUMER.DURABLE.CREATE.{stream}.*",
        f"{_API}.CONSUMER.LIST.{stream}",
        f"{_API}.CONSUMER.DELETE.{stream}.*",
        f"$JS.ACK.{stream}.>",
    ]


def _reading_keys(bucket: str) -> list[str]:
    return [*_watching(f"KV_{bucket}"), f"{_API}.DIRECT.GET.KV_{bucket}.>"]


def _bucket(bucket: str) -> list[str]:
    """To read, list and write all keys; listing has the client answer the server's flow control."""
    stream = f"KV_{bucket}"
    return [
        *_watching(stream),
        f"{_API}.STREAM.MSG.GET.{stream}",
        f"{_API}.CONSUMER.CREATE.{stream}",
        f"$KV.{bucket}.>",
        f"$JS.FC.{stream}.>",
    ]
