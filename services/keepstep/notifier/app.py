"""Brings messages to their sinks, one try at a time."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial

from keepstep.adapters.kube_named import names_kubernetes
from keepstep.adapters.sink_log import FileSink, LogSink
from keepstep.adapters.sink_webhook import WebhookSink, webhook_client
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.core.masking import masked
from keepstep.notifier.core import (
    OBJECTS,
    Deliver,
    Notices,
    Pending,
    deadlines,
    decide,
    delayed,
    delivered,
    dropped,
    effects,
    fold_key,
    hears,
    over,
)
from keepstep.notifier.settings import Settings
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Sink
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act

PATIENCE = timedelta(seconds=0.05)
"""Nobody reads faster; what is decided within it, as in one step of a recovery, is folded and written once."""

Directory = Callable[[str], Sink]
"""From a route's address to its sink; raises Permanent for one that is none."""


def build(settings: Shared) -> App[Notices]:
    """Return the notifier with the sinks ``log`` and webhook, and on Kubernetes that of its objects.

    Raises Permanent if the settings name a cluster that cannot be found.
    """
    own = Settings()
    objects = objects_of(settings.cluster, namespaces=settings.namespaces)

    def stage(context: Context[Notices]) -> Stage[Notices]:
        pool = NotificationPolicy(routes=own.routes)
        find = directory(own, objects)
        return notifier_stage(find, context.clock, pool=pool, objects=objects is not None)

    return App(service=Service.NOTIFIER, stage=stage)


def objects_of(cluster: str, *, namespaces: Sequence[str] = ()) -> Sink | None:
    """Return the sink of a Kubernetes cluster's objects, None where the setting names none. Raises Permanent."""
    if not names_kubernetes(cluster):
        return None
    from keepstep.notifier.kubernetes import sink_of  # noqa: PLC0415 - an extra of its own

    return sink_of(cluster, namespaces=namespaces)


def directory(settings: Settings, objects: Sink | None = None) -> Directory:
    """Return where sinks are found; webhooks share one client and its connections. ``objects``: the cluster's."""
    lines: Sink = LogSink() if settings.file is None else FileSink(settings.file)
    client = webhook_client(limit=timedelta(seconds=settings.deliver_seconds))

    def find(address: str) -> Sink:
        if address == "log":
            return lines
        if address == OBJECTS and objects is not None:
            return objects
        if address.startswith(("http://", "https://")):
            return WebhookSink(address, client)
        raise Permanent(f"there is no sink {masked(address)!r}: a route names log or an http(s) address")

    return find


def notifier_stage(find: Directory, clock: Clock, *, pool: NotificationPolicy, objects: bool = False) -> Stage[Notices]:
    """Return the stage whose messages go to the sinks of ``find``; ``objects``: one is that of a cluster's objects."""

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case Deliver(pending=pending):
                return (await _tried(find, pending, clock),)
            case _:
                return await no_act(effect)

    return Stage(
        service=Service.NOTIFIER,
        hears=hears(objects=objects),
        state=Notices,
        fold_key=fold_key,
        decide=partial(decide, pool=pool, objects=objects),
        deadlines=deadlines,
        effects=effects,
        act=act,
        over=over,
        patience=PATIENCE,
        counts_unknown=True,
    )


async def _tried(find: Directory, pending: Pending, clock: Clock) -> Message:
    """Return what became of one try; a crash right after it tries again, so sinks get the notice's id."""
    try:
        await find(pending.sink).deliver(pending.notice)
    except Transient as error:
        return delayed(pending, because=str(error), retry_after=error.retry_after, now=clock.now())
    except Permanent as error:
        return dropped(pending, because=str(error), now=clock.now())
    return delivered(pending, now=clock.now())
