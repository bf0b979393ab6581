"""``keepstep notify``: which channels there are, and whether one of them reaches people."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli.errors import Failed, Refused
from keepstep.cli.options import AsJson, application, emit, listing, write
from keepstep.contracts.channels import Channel, Channels
from keepstep.contracts.ids import derive
from keepstep.contracts.notice import Link
from keepstep.contracts.taxonomy import AlertKind, Severity, Stage
from keepstep.ports.errors import KeepstepError, Transient
from keepstep.ports.sink import Notice, Receipt

VARIABLE = "KEEPSTEP_NOTIFIER_CHANNELS"
PATIENCE = timedelta(seconds=10)
"""As long as the notifier waits for an answer."""

app = application()
Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="name of a channel; keepstep notify list shows them")]
File = Annotated[Path | None, typer.Option("--channels", help=f"the channels file; default ${VARIABLE}")]
Mention = Annotated[list[str] | None, typer.Option("--mention", help="a person, a group, or all; can be repeated")]


@app.command("test")
def try_channel(name: Name, channels: File = None, mention: Mention = None, json: AsJson = False) -> None:
    """Send one message through a channel, as the notifier would, and show what the vendor answered."""
    path = _path(channels)
    read = _read(path)
    channel = read.channel(name)
    if channel is None:
        known = ", ".join(one.name for one in read.channels) or "none"
        raise Refused(f"channels {path}: there is no channel {name!r}; known are {known}")
    sent = _sample(read, channel, tuple(mention or ()))
    receipt = asyncio.run(_deliver(read, name, sent))
    if json:
        emit({"channel": name, "kind": channel.kind, "code": receipt.code, "detail": receipt.detail})
        return
    answered = f"answered {receipt.code}" if receipt.code else "took it"
    write(f"{name} ({channel.kind}) {answered}{f': {receipt.detail}' if receipt.detail else ''}")
    if sent.mentions.missing:
        write(f"not called, for {name} does not know them: {', '.join(sent.mentions.missing)}")


@app.command("list")
def list_channels(channels: File = None, json: AsJson = False) -> None:
    """List the channels of the file, without their secrets; a file with mistakes is told with all of them."""
    found = _read(_path(channels)).channels
    if json:
        emit([_object(one) for one in found])
        return
    rows = [(one.name, str(one.kind), str(one.language), _limit(one), str(one.minimum), _quiet(one)) for one in found]
    listing(("NAME", "KIND", "LANGUAGE", "LIMIT", "MINIMUM", "QUIET"), rows)


def _path(given: Path | None) -> Path:
    named = os.environ.get(VARIABLE, "")
    if given is None and not named:
        raise Refused(f"no channels file: write --channels FILE, or set {VARIABLE}")
    return given or Path(named)


def _read(path: Path) -> Channels:
    from keepstep.adapters.channel_file import read  # noqa: PLC0415 - YAML and its schemas, which --help does not need

    return read(path)


async def _deliver(channels: Channels, name: str, notice: Notice) -> Receipt:
    try:
        from keepstep.adapters.channel_directory import ChannelDirectory  # noqa: PLC0415 - the extra notify
    except ModuleNotFoundError as error:
        raise Failed(f"{error.name} is missing: pip install 'keepstep[notify]'") from error
    from keepstep.adapters.channel_file import Held  # noqa: PLC0415
    from keepstep.adapters.clock import SystemClock  # noqa: PLC0415
    from keepstep.adapters.sink_log import LogSink  # noqa: PLC0415

    find = ChannelDirectory(Held(channels), LogSink(), SystemClock(), limit=PATIENCE)
    try:
        return await find(name).deliver(notice) or Receipt("")
    except KeepstepError as error:
        failure = f"{error}{'; it may work later' if isinstance(error, Transient) else ''}"
    raise Failed(failure)


def _sample(channels: Channels, channel: Channel, people: tuple[str, ...]) -> Notice:
    now = datetime.now(UTC)
    return Notice(
        id=derive("test", channel.name, now.isoformat()),
        thread=derive("test", channel.name),
        sequence=1,
        severity=Severity.CRITICAL if channel.minimum is Severity.CRITICAL else Severity.WARNING,
        title=f"keepstep reaches {channel.name}: this is a test",
        text="keepstep notify test sent this; nothing is wrong.",
        facts=(("channel", channel.name), ("kind", str(channel.kind))),
        kind=AlertKind.STACK,
        stage=Stage.NOTE,
        at=now,
        links=(Link(label="console", url=channels.console),) if channels.console else (),
        mentions=channels.mentions(channel.name, people),
    )


def _limit(channel: Channel) -> str:
    second = "" if channel.limit.per_second is None else f", {channel.limit.per_second}/s"
    return f"{channel.limit.per_minute}/min{second}"


def _quiet(channel: Channel) -> str:
    return ", ".join(f"{one.start:%H:%M}-{one.end:%H:%M} {one.zone}" for one in channel.quiet) or "never"


def _object(channel: Channel) -> dict[str, object]:
    """Return what may be seen of a channel: pydantic prints its secrets as stars."""
    plain: dict[str, object] = channel.model_dump(mode="json")
    return plain
