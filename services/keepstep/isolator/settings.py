"""What the isolator alone is told from outside."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Field ``tend_seconds`` is the variable ``KEEPSTEP_ISOLATOR_TEND_SECONDS``."""

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_ISOLATOR_", frozen=True)

    tend_seconds: float = Field(default=1.0, gt=0)
    """How often isolated nodes are looked at: fine against the 60 s of ``release_after``, one listing per look."""
    group_label: str = ""
    """The nodes' label that names their rack or switch: no more than a share of each may be out. Kubernetes only."""
    mindcluster: bool = False
    """Devices are given out by MindCluster's device plugin, which leaves out those in a ConfigMap of kube-system."""
