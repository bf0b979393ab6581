"""What the checkpoint-manager alone is told from outside."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Field ``look_seconds`` is the variable ``KEEPSTEP_CHECKPOINT_MANAGER_LOOK_SECONDS``."""

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_CHECKPOINT_MANAGER_", frozen=True)

    look_seconds: float = Field(default=2.0, gt=0)
    """How long files are looked at before the agent's word is trusted: the join waits 5 s, a hung mount for ever."""
