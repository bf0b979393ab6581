"""What the detector is told from outside; each job's policy says the rest."""

from datetime import timedelta

from pydantic import Field

from keepstep.adapters.kube_trouble import CONDITIONS
from keepstep.contracts.policy import DetectionPolicy
from keepstep.runtime.settings import Settings


class DetectorSettings(Settings):
    """Settings of the detector; blindness is the pool's matter, not a job's."""

    detector_tick: timedelta = timedelta(seconds=0.5)
    """Half a heartbeat: a silence is called at most this much late, and 100,000 agents cost a few percent of a core."""
    detector_blind_share: float = Field(default=DetectionPolicy().blind_share, gt=0, le=1)
    """More than this share of all agents silent in one window: the detector is to be doubted."""
    detector_blind_minimum: int = Field(default=DetectionPolicy().blind_minimum, ge=1)
    """Below this many silent agents a share says nothing."""

    detector_conditions: tuple[str, ...] = CONDITIONS
    """Types of node conditions that are a fault of the node while they are True, as JSON. Kubernetes only."""
    detector_mindcluster: bool = False
    """Read MindCluster's ConfigMaps in kube-system and mindx-dl. Kubernetes only."""

    @property
    def blindness(self) -> DetectionPolicy:
        """The limits as the watch takes them."""
        return DetectionPolicy(blind_share=self.detector_blind_share, blind_minimum=self.detector_blind_minimum)
