"""What every service is told from outside: field ``nats_url`` is the variable ``KEEPSTEP_NATS_URL``, and so on.

A service with settings of its own subclasses this model and reads it in its ``build``.
"""

import os
import socket
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from keepstep.contracts.ids import Pool

MOST_JOBS = 50
"""Six series for each: any Prometheus takes that from any number of pools."""


def instance_name() -> str:
    """Return what tells this process from its standby in leases and logs: host and process id."""
    return f"{socket.gethostname()}-{os.getpid()}"


class Settings(BaseSettings):
    """Settings that all services share; secrets print as stars."""

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_", frozen=True, extra="ignore")

    nats_url: SecretStr = SecretStr("nats://127.0.0.1:4222")
    """Where the bus is, a token in its user part; 4222 is NATS's own port."""
    pool: Pool = Pool("default")
    """One stream, one set of services and one fleet; two pools on one server share nothing else."""
    bus_replicas: int = Field(default=1, ge=1, le=5)
    """On how many servers of the bus each message is before it counts; three in a cluster, as one may be away."""
    store: SecretStr = SecretStr("nats")
    """``nats`` (the bus's own key-value buckets, nothing more to run), ``memory`` (tests) or ``redis://...``."""
    cluster: str = ""
    """``local:<cluster dir>``, ``kubernetes`` or ``kubernetes:<kubeconfig>``; empty: touches no cluster."""
    namespaces: tuple[str, ...] = ()
    """Of a Kubernetes those that jobs are looked for in, as JSON; empty is all, which takes rights in all of them."""
    create_in: tuple[str, ...] = ()
    """Namespaces of a Kubernetes in which people's orders make jobs, as JSON; empty: orders make none, and whoever
    asks makes them by his own right."""
    http_port: int = Field(default=0, ge=0, le=65535)
    """Port of /healthz, /readyz and /metrics; 0 serves none, as many services in one process need."""
    http_host: str = "127.0.0.1"
    """Loopback unless said otherwise: metrics name jobs and nodes to nobody by default."""
    metrics_jobs: int = Field(default=MOST_JOBS, ge=0, le=1000)
    """Jobs that metrics tell apart by name, the newest; the others are told together."""
    traces_url: SecretStr | None = None
    """OTLP/HTTP address of who collects traces, as ``http://collector:4318``; None exports none and imports nothing."""
    data: Path = Path(".keepstep")
    """Folder of the embedded server's data and of private runs."""
    instance: str = Field(default_factory=instance_name)
    """Name in the lease; must differ between an active instance and its standby."""

    @property
    def creates_in(self) -> tuple[str, ...]:
        """Where orders make jobs: a job in a namespace that is not looked into would never be found."""
        return tuple(one for one in self.create_in if not self.namespaces or one in self.namespaces)
