"""What the gate alone is told from outside."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from keepstep.contracts.ids import Pool
from keepstep.runtime.rights import DEFAULT


class Settings(BaseSettings):
    """Field ``pools`` is the variable ``KEEPSTEP_GATE_POOLS``, and so on."""

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_GATE_", frozen=True)

    seed: SecretStr
    """The key whose public half the bus knows as its issuer: whoever reads it can give himself any agent's rights."""
    pools: tuple[Pool, ...] = (DEFAULT,)
    """The pools of this bus, as a JSON list."""
    remembered_seconds: float = Field(default=30.0, ge=0)
    """How long an API server's answer counts. An agent knocks twice as it is bound, and all at once when the bus comes
    back; a pod that is deleted meanwhile is believed that much longer."""
