"""What the notifier is told from outside."""

from dataclasses import dataclass

from keepstep.contracts.channels import Channels
from keepstep.contracts.notification import NotificationPolicy

NONE = Channels()


@dataclass(frozen=True)
class Given:
    """What the notifier is told from outside: the pool's rules, the channels file, whether there is a cluster."""

    pool: NotificationPolicy
    objects: bool = False
    """There is a cluster whose objects are told each step of an incident, whatever the rules are."""
    channels: Channels = NONE
    console: str = ""
    """Address of the console's pages; what is in the channels file is taken where this is empty."""

    @property
    def pages(self) -> str:
        """Where links lead."""
        return self.console or self.channels.console
