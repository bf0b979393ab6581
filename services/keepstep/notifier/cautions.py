"""Says in the log what is wrong with rules and channels when they are read; each once."""

import structlog

from keepstep.contracts.channels import Channels
from keepstep.contracts.events import JobAccepted
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy
from keepstep.core.silent_mentions import silent_mentions


class Cautions:
    """What was said already."""

    def __init__(self, pool: NotificationPolicy) -> None:
        """``pool``: the pool's rules."""
        self._pool = pool
        self._channels: Channels | None = None

    def read(self, channels: Channels) -> None:
        """Say what is wrong with the pool's rules, unless the channels are those of the last time."""
        if channels is not self._channels:
            self._channels = channels
            self._say(self._pool, channels)

    def hear(self, message: Message, channels: Channels) -> None:
        """Say what is wrong with the rules that a job brings."""
        self.read(channels)
        if isinstance(message, JobAccepted):
            self._say(message.spec.policy.notification, channels, job=message.spec.name)

    def _say(self, policy: NotificationPolicy, channels: Channels, *, job: str = "") -> None:
        for because in silent_mentions(policy.routes, channels):
            structlog.get_logger("keepstep.notifier").warning("mention_calls_nobody", because=because, job=job)
