"""What the notifier alone is told from outside."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from keepstep.contracts.notification import NotificationPolicy, Route


class Settings(BaseSettings):
    """Field ``file`` is the variable ``KEEPSTEP_NOTIFIER_FILE``, and so on."""

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_NOTIFIER_", frozen=True)

    routes: tuple[Route, ...] = NotificationPolicy().routes
    """Routes, as JSON, of nodes, the pool, dead letters, and of jobs whose policy has none of its own."""
    file: Path | None = None
    """Where the sink ``log`` writes, one JSON object a line; None is the service's own log."""
    deliver_seconds: float = Field(default=10.0, gt=0)
    """How long a webhook may take: chat robots answer within one second."""
    channels: Path | None = None
    """The channels file, YAML or JSON; it is read again when it changes. None: rules name addresses alone."""
    console_url: str = Field(default="", validation_alias="KEEPSTEP_CONSOLE_URL")
    """Where people reach the console's pages, for links; what the channels file says is taken where this is empty."""
