"""What of keepstep enters a pod: image, bus, pool; one value for the command line and the webhook."""

from dataclasses import dataclass

IMAGE = "keepstep:latest"
NATS_URL = "nats://keepstep-nats.keepstep.svc:4222"
NATIVE_SINCE = (1, 29)
"""Sidecars as init containers that go on are on by default since; a plain container before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """Where agents come from and where they report."""

    image: str = IMAGE
    pull_policy: str = "IfNotPresent"
    nats_url: str = NATS_URL
    nats_secret: str = ""
    """A Secret in the job's namespace whose key ``url`` is the address with its credentials, instead of the former."""
    pool: str = "default"
    native: bool = True
    """The server knows sidecars."""
    cpu: str = "250m"
    memory: str = "256Mi"
    """Requests and limits alike, so that a pod of class Guaranteed stays one. An agent takes 60 MiB and 2 % of a core
    at eight ranks; a look at a large checkpoint folder takes more."""


def is_native(version: tuple[int, int]) -> bool:
    """Return whether a server of this version (major, minor) starts and ends sidecars by itself."""
    return version >= NATIVE_SINCE
