"""What others found out about nodes and wrote down in the cluster: a node problem detector, MindCluster."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from keepstep.contracts.ids import NodeName


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong now, with a device or, without one, the node."""

    code: str
    device: str | None = None
    level: str = ""
    """How bad its finder calls it; another level is news."""
    text: str = ""
    since: str = ""
    """When it began, as the finder wrote it; "" where it did not."""


@dataclass(frozen=True, slots=True)
class Shown:
    """All that one object shows of a node, as of ``version``."""

    place: str
    """Which object: the same for each of its versions."""
    version: str
    node: NodeName
    source: str
    """Who writes it."""
    speaks_of: tuple[str, ...]
    """How what it may show begins: ``device Ascend``, or a condition's name."""
    troubles: tuple[Trouble, ...] = ()
    gone: bool = False
    """The object is no more, and with it what it showed."""
    refused: str = ""
    """Why it cannot be read; then nothing is known by it, and what it showed before holds."""


class Troubles(Protocol):
    """The objects that show troubles."""

    async def follow(self, take: Callable[[Shown], Awaitable[None]]) -> None:
        """Hand over what each object shows, and again at each change, for ever.

        Waits out what is transient, raises Permanent.
        """
