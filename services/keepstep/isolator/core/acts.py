"""What the fold wants done to the fleet: each act is named by what it is for, so that a successor does it once."""

from dataclasses import dataclass

from keepstep.isolator.core.state import Drain, Isolation, Release, Request


@dataclass(frozen=True)
class Fence:
    """Cordon the node if the fleet allows, and answer."""

    request: Request

    @property
    def id(self) -> str:
        """One per verdict or order."""
        return f"fence/{self.request.origin.id}"


@dataclass(frozen=True)
class Tend:
    """Watch an isolated node: notice hands on its cordon, and release it when its time has come."""

    isolation: Isolation

    @property
    def id(self) -> str:
        """One per isolation, way back and turn of the node."""
        return f"tend/{self.isolation.origin.id}/{self.isolation.way}/{self.isolation.turns}"


@dataclass(frozen=True)
class Empty:
    """Move what else runs on an isolated node away."""

    isolation: Isolation
    drain: Drain

    @property
    def id(self) -> str:
        """One per isolation."""
        return f"empty/{self.isolation.origin.id}"


@dataclass(frozen=True)
class Free:
    """Take keepstep's cordon of the node back, or let a device of it go."""

    release: Release

    @property
    def id(self) -> str:
        """One per release."""
        return f"free/{self.release.node}/{self.release.origin.id}"
