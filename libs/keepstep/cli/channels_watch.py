"""Tells on the operator's screen what is wrong with the channels file of a running stack, which keeps the last good."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from keepstep.cli.cautioning import CHANNELS
from keepstep.contracts.notification import NotificationPolicy, Route
from keepstep.core.silent_mentions import silent_mentions
from keepstep.ports.errors import Permanent

LOOK_S = 1.0
"""How often the file is looked at: as long as somebody who saves it looks at the screen."""
ROUTES = "KEEPSTEP_NOTIFIER_ROUTES"


async def channels_watched(tell: Callable[[str], None], *, every_s: float = LOOK_S) -> None:
    """Look at the file that the environment names for ever; tell of each change for the worse and the better once."""
    named, told = os.environ.get(CHANNELS, ""), tuple[str, ...]()
    while True:
        found = await asyncio.to_thread(faults, Path(named)) if named else ()
        for fault in (one for one in found if one not in told):
            tell(fault)
        if told and not found:
            tell(f"channels {named}: in order again")
        told = found
        await asyncio.sleep(every_s)  # nothing says that a file changed


def faults(path: Path) -> tuple[str, ...]:
    """Return what is wrong with the channels file, and with the pool's rules as it has the channels."""
    from keepstep.adapters.channel_file import read  # noqa: PLC0415 - YAML, which a stack without channels lacks

    try:
        channels = read(path)
    except Permanent as error:
        return (f"{error}; the channels that were read before stay in use",)
    return silent_mentions(_routes(), channels)


def _routes() -> tuple[Route, ...]:
    """Return the pool's rules; the notifier itself refuses broken ones at its start."""
    try:
        return TypeAdapter(tuple[Route, ...]).validate_json(os.environ.get(ROUTES, ""))
    except ValidationError:
        return NotificationPolicy().routes
