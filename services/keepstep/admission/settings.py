"""What admission is told from outside."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from keepstep.injection.ours import IMAGE, NATS_SECRET


class Settings(BaseSettings):
    """Field ``certificate`` is the variable ``KEEPSTEP_ADMISSION_CERTIFICATE``, and so on."""

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_ADMISSION_", frozen=True)

    certificate: Path
    """PEM chain for the name of the Service; read again when it changes, as when cert-manager renews it."""
    key: Path
    host: str = "0.0.0.0"  # noqa: S104 - the API server calls from outside the pod
    port: int = Field(default=8443, ge=0, le=65535)
    """Above 1024, so that no capability is needed."""
    image: str = IMAGE
    """What agents run on; the same as this service's own."""
    nats_url: SecretStr = SecretStr("")
    """Where agents find the bus, without credentials, instead of by ``nats_secret``."""
    nats_secret: str = NATS_SECRET
    """A Secret in the jobs' namespaces whose key ``url`` is the bus's address."""
    pool: str = "default"
    isolation: bool = True
    """The pool keeps faulty nodes away from jobs; without that no job is taken."""
    operator: str = ""
    """``namespace/name`` of the deployment of the framework operator; "" looks at none."""
    operator_minimum: str = "1.6.10"
    scheduler: str = ""
    """The same of the job scheduler."""
    scheduler_minimum: str = "1.7.7"
    """The minimum versions are Baige's, whose components these are; name others with others."""
    look_seconds: float = Field(default=60.0, gt=0)
    """How often certificate and components are looked at: an upgrade may take effect within a minute."""
