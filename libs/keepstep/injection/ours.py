"""What of keepstep enters a pod: image, bus, pool; one value for the command line and the webhook."""

from dataclasses import dataclass

from pydantic import SecretStr

from keepstep.injection.objection import Objection

IMAGE = "keepstep:latest"
NATS_SECRET = "bus-agent"  # noqa: S105 - the name of one
"""What k8s/base ships: pods of jobs have a Secret of this name beside them."""
NOWHERE = SecretStr("")
NATIVE_SINCE = (1, 29)
"""Sidecars as init containers that go on are on by default since; a plain container before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """Where agents come from and where they report."""

    image: str = IMAGE
    pull_policy: str = "IfNotPresent"
    nats_url: SecretStr = NOWHERE
    """The bus's address, without credentials: everybody who may read a pod reads it. Empty: the Secret has it."""
    nats_secret: str = NATS_SECRET
    """A Secret in the job's namespace whose key ``url`` is the address with its credentials."""
    pool: str = "default"
    native: bool = True
    """The server knows sidecars."""
    cpu: str = "250m"
    memory: str = "256Mi"
    """Requests and limits alike, so that a pod of class Guaranteed stays one. An agent takes 60 MiB and 2 % of a core
    at eight ranks; a look at a large checkpoint folder takes more."""


def speaks_out(ours: Ours) -> Objection | None:
    """Return the objection to an address that would put a password or token into every pod template."""
    servers = ours.nats_url.get_secret_value().split(",")
    if not any("@" in server.partition("?")[0] for server in servers):
        return None
    because = "it holds credentials, and whoever may read a pod would read them"
    return Objection("nats_url", because, "put the address into key url of a Secret beside the job, and name that")


def is_native(version: tuple[int, int]) -> bool:
    """Return whether a server of this version (major, minor) starts and ends sidecars by itself."""
    return version >= NATIVE_SINCE
