"""The parts of a message to people, as events, folds and channels all hold them."""

from keepstep.contracts.ids import IncidentId
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Severity, Stage


class Link(Frozen):
    """Where to look further: the console, the job, the evidence."""

    label: str
    """One of ``console``, ``job``, ``incident``, ``evidence``, which have words in every language, or any text."""
    url: str
    """Absolute, http or https; any other is left out of what is sent."""


class Mentions(Frozen):
    """Whom a message calls, resolved for one channel: as its vendor knows them."""

    ids: tuple[str, ...] = ()
    """User ids of the channel's vendor."""
    mobiles: tuple[str, ...] = ()
    """Numbers, as DingTalk and WeCom mention by them and SMS and phone reach by them."""
    emails: tuple[str, ...] = ()
    everyone: bool = False
    missing: tuple[str, ...] = ()
    """Names that this channel cannot call; the message shows them, so that somebody notices."""


NOBODY = Mentions()


class Member(Frozen):
    """One of the notices that a digest stands for."""

    id: str
    """The notice's id."""
    title: str
    incident: IncidentId | None = None
    """Shown whole, whatever has to be shortened: no incident is lost in a storm."""
    severity: Severity = Severity.INFO
    """The worst of its thread."""
    stage: Stage = Stage.NOTE
    """Where the story of its thread stands with it."""
