"""Events that the detector says; some only to itself, so that its fold decides on what its watch saw."""

from pydantic import AwareDatetime, Field

from keepstep.contracts.events.evidence import DeviceEvidence, Evidence, NodeEvidence, StallEvidence
from keepstep.contracts.message import Event
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Exit


class FaultDetected(Event):
    """Something is wrong with a rank, task, device or node; ``occurred`` is when, as its witness saw it."""

    subject_name: str
    """Readable and stable: ``rank 3``, ``task worker-1``, ``node n1``."""
    occurred: AwareDatetime
    evidence: Evidence
    because: str


class FaultCleared(Event):
    """A fault is over without help; ``cause`` is the FaultDetected."""

    because: str


class DetectorBlinded(Event):
    """So many agents fell silent at once that the detector, not they, is to be doubted: no fault is called."""

    silent: int
    total: int
    because: str


class DetectorSighted(Event):
    """The detector hears enough agents again."""

    total: int


class SilenceSuspected(Event):
    """The agent of ``task`` was not heard for a whole loss window while its job was not seen to step."""

    silent_s: float
    last_step: int | None = None
    phase: Phase | None = None
    """What its ranks were doing when last heard, of several the one with the longest limit; None if never heard."""


class AgentHeard(Event):
    """The agent of ``task``, once called silent, is heard again."""


class StallSuspected(Event):
    """Heartbeats of the whole job agree that it hangs; ``stalls`` names who is to blame, or one rank of all."""

    stalls: tuple[StallEvidence, ...]
    because: str


class StallPassed(Event):
    """Ranks that StallSuspected named step again."""

    ranks: tuple[int, ...]


class ExitSuspected(Event):
    """Heartbeats repeat an exit of a rank that nobody reported: the RankExited was lost with its agent."""

    rank: int
    exit: Exit
    step: int | None = None
    phase: Phase = Phase.STARTING


class ReportPlaced(Event):
    """A report about a node or device was brought to a job that runs there now; without a job: to all of them."""

    evidence: DeviceEvidence | NodeEvidence = Field(discriminator="kind")
    active: bool = True
    once: bool = False
    """The fault was over as soon as it was reported: the next report of it is another one."""
    jobs: int | None = None
    """How many jobs it was brought to, said with the one to all of them; None in older events."""


class ReportRead(Event):
    """A trouble of a node or device, or its end, stands on an object of the cluster; said by the detector to itself.

    A word of its own: what a node agent reports is signed by that agent, and what a system outside says by it.
    """

    source: str
    """Who found it: ``node-problem-detector`` or ``mindcluster``."""
    evidence: DeviceEvidence | NodeEvidence = Field(discriminator="kind")
    active: bool = True
