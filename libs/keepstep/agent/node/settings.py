"""What a node's agent is told from outside; read once at start, from the base install only."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict, Field, SecretStr, field_validator

from keepstep.agent.node.kmsg import KMSG
from keepstep.agent.node.looks import CONDITIONS
from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.model import Frozen

_SHARED = ("nats_url", "node", "pool", "pod_uid", "token_file", "http_host", "http_port")
"""Settings that every process of keepstep names alike; the others begin with KEEPSTEP_NODE_AGENT_."""


class NodeSettings(Frozen):
    """Settings by variable: ``nats_url`` is ``KEEPSTEP_NATS_URL``, ``paths`` is ``KEEPSTEP_NODE_AGENT_PATHS``."""

    model_config = ConfigDict(hide_input_in_errors=True)

    nats_url: SecretStr
    node: NodeName = Field(min_length=1)
    pool: Pool = Pool("default")
    pod_uid: str = ""
    token_file: Path | None = None
    """The token that proves to the bus which pod this is, and so which node; see the agent of a pod."""
    http_host: str = "127.0.0.1"
    http_port: int = Field(default=0, ge=0, le=65535)
    """Where /healthz and /readyz are served; 0 serves none."""
    state: Path = Path("/var/lib/keepstep")
    """What was told and is not over, and what waits for the bus: outlives the agent, not the node."""
    paths: tuple[str, ...] = ("/",)
    """Filesystems that are looked at, colons between them: / is the container runtime's, where its root is."""
    kmsg: Path = KMSG
    """Where the kernel's log is read; where that cannot be opened, by syslog(2)."""
    faults: tuple[str, ...] = ()
    """Conditions that are a fault of the node while they last, with commas between them. By default none is: a training
    that steps is not hurt by them yet, and people are told."""

    @field_validator("faults")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(value) - set(CONDITIONS))
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is none of {', '.join(CONDITIONS)}")
        return value


def variable(field: str) -> str:
    """Return the variable of a setting."""
    return f"KEEPSTEP_{field.upper()}" if field in _SHARED else f"KEEPSTEP_NODE_AGENT_{field.upper()}"


def read_settings(environ: Mapping[str, str]) -> NodeSettings:
    """Return the settings; raises ValidationError that names the missing or wrong field."""
    told = {field: environ.get(variable(field)) for field in NodeSettings.model_fields}
    parts = {"paths": ":", "faults": ","}
    return NodeSettings.model_validate(
        {
            field: tuple(filter(None, value.split(parts[field]))) if field in parts else value
            for field, value in told.items()
            if value is not None
        }
    )
