"""Where sinks are found: by address, in the log, on a cluster's objects, and by name in the channels file."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from keepstep.adapters.kube_named import names_kubernetes
from keepstep.adapters.sink_log import FileSink, LogSink
from keepstep.adapters.sink_webhook import WebhookSink, webhook_client
from keepstep.contracts.channels import Channels
from keepstep.contracts.message import Message
from keepstep.core.masking import masked
from keepstep.notifier.core import OBJECTS
from keepstep.notifier.settings import Settings
from keepstep.ports.errors import Permanent
from keepstep.ports.sink import Sink
from keepstep.runtime.app import unburied

Directory = Callable[[str], Sink]
"""From a route's address, or a channel's name, to its sink; raises Permanent for one that is none."""


def nowhere(name: str) -> Sink:
    """Refuse: there is no channels file."""
    remedy = "put the channels file where KEEPSTEP_NOTIFIER_CHANNELS says and run keepstep deadletter replay"
    raise Permanent(f"there is no channel {masked(name)}: {remedy}", code="unknown_channel")


@dataclass(frozen=True)
class Ways:
    """What the notifier has beside addresses: the channels file as it is now, and the dead letters."""

    channels: Callable[[], Channels] = Channels
    find: Directory = nowhere
    bury: Callable[[Message, str], Awaitable[None]] = unburied
    console: str = ""
    """Address of the console's pages."""

    def burying(self, bury: Callable[[Message, str], Awaitable[None]]) -> "Ways":
        """Return them with this way to the dead letters."""
        return replace(self, bury=bury)


def objects_of(cluster: str, *, namespaces: Sequence[str] = ()) -> Sink | None:
    """Return the sink of a Kubernetes cluster's objects, None where the setting names none. Raises Permanent."""
    if not names_kubernetes(cluster):
        return None
    from keepstep.notifier.kubernetes import sink_of  # noqa: PLC0415 - an extra of its own

    return sink_of(cluster, namespaces=namespaces)


def directory(settings: Settings, objects: Sink | None = None, *, found: Directory | None = None) -> Directory:
    """Return where sinks of addresses are found. ``objects``: the cluster's; ``found``: those of a channels file.

    Where there is a channels file, addresses are held to its allow-list; where there is none they may be any but the
    metadata of clouds. Webhooks share one client.
    """
    lines = lines_of(settings)
    client = webhook_client(limit=timedelta(seconds=settings.deliver_seconds))

    def find(address: str) -> Sink:
        if address == OBJECTS and objects is not None:
            return objects
        if found is not None and _is_there(settings):
            return found(address)
        if address == "log":
            return lines
        if address.startswith(("http://", "https://")):
            return WebhookSink(address, client)
        raise Permanent(f"there is no sink {masked(address)!r}: a route names log, an http(s) address or a channel")

    return find


def lines_of(settings: Settings) -> Sink:
    """Return the sink ``log``."""
    return LogSink() if settings.file is None else FileSink(settings.file)


def ways_of(settings: Settings) -> tuple[Ways, Directory | None]:
    """Return the channels of the file that the settings name, while it is there, and where its sinks are found."""
    if settings.channels is None:
        return Ways(console=settings.console_url), None
    from keepstep.notifier.channels import opened  # noqa: PLC0415 - an extra of its own

    found = opened(settings.channels, lines_of(settings), limit=timedelta(seconds=settings.deliver_seconds))

    def named(name: str) -> Sink:
        if not _is_there(settings):
            return nowhere(name)
        try:
            return found(name)
        except Permanent as error:
            remedy = f"name one of them, or add it to {settings.channels} and run keepstep deadletter replay"
            raise Permanent(f"{error}; {remedy}", code="unknown_channel") from error

    def channels() -> Channels:
        return found.channels if _is_there(settings) else Channels()

    return Ways(channels, named, console=settings.console_url), found


def _is_there(settings: Settings) -> bool:
    """Tell whether the channels file is there now: a cluster mounts it only where somebody made its Secret."""
    return settings.channels is not None and settings.channels.exists()
