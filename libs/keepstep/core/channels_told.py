"""The channel that a notification went to, as a label: what people write into a file is neither plain nor bounded."""

import re
from collections.abc import Collection

from keepstep.contracts.events import NotificationDelayed, NotificationDelivered, NotificationDropped
from keepstep.contracts.taxonomy import ChannelKind

OTHER = "other"
CHANNELS: tuple[str, ...] = (*ChannelKind, "kubernetes", OTHER)
"""Kinds, the objects of a cluster, and what is told together."""
OUTCOMES = ("delivered", "delayed", "dropped")
NAMED = 20
"""Channels told apart by name; a pool with more has the later ones told as ``other``."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def channel_of(
    message: NotificationDelivered | NotificationDelayed | NotificationDropped, known: Collection[str]
) -> str:
    """Return the channel's kind or name, ``other`` beyond those ``known`` and for a name that is no channel's."""
    told = message.sink
    if told.startswith(("http://", "https://")):
        return ChannelKind.WEBHOOK
    if told in CHANNELS or told in known:
        return told
    named = sum(one not in CHANNELS for one in known)
    return told if named < NAMED and _NAME.fullmatch(told) else OTHER
