"""What an agent is told from outside; read once at start, from the base install only."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from pydantic import ConfigDict, Field, SecretStr

from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.model import Frozen


class Sidecar(StrEnum):
    """How the agent's container stands beside the training's."""

    NATIVE = "native"
    """The kubelet ends it once the training's container has ended."""
    PLAIN = "plain"
    """The pod ends when both have ended; so the agent has to see that its launcher has."""


class AgentSettings(Frozen):
    """Settings by variable: ``nats_url`` is ``KEEPSTEP_NATS_URL``, and so on."""

    model_config = ConfigDict(hide_input_in_errors=True)

    nats_url: SecretStr
    node: NodeName = Field(min_length=1)
    address: str = Field(default="127.0.0.1", min_length=1)
    """Where other tasks reach this one's rank 0; the pod's IP in a cluster, loopback on one machine."""
    pool: Pool = Pool("default")
    """Where a pod's binding is looked up; an agent that is given its task finds the pool there."""
    pod_uid: str = ""
    """The pod that this agent is a sidecar of, "" on one machine."""
    sidecar: Sidecar = Sidecar.NATIVE
    token_file: Path | None = None
    """The token that proves to the bus which pod this is; it counts where the bus's address has no credentials."""


def read_settings(environ: Mapping[str, str]) -> AgentSettings:
    """Return the settings; raises ValidationError that names the missing field."""
    fields = {name: environ.get(f"KEEPSTEP_{name.upper()}") for name in AgentSettings.model_fields}
    return AgentSettings.model_validate({name: value for name, value in fields.items() if value is not None})
