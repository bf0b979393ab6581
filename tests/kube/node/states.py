"""What a kubelet knows of the containers of one pod, and the numbers of a real kubelet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..server.objects import Obj


@dataclass(frozen=True)
class Times:
    """A kubelet's own times as its sources have them; ``faster`` divides them, and the grace of a pod's end."""

    lease_renewal: timedelta = timedelta(seconds=10)
    first_back_off: timedelta = timedelta(seconds=10)
    longest_back_off: timedelta = timedelta(seconds=300)
    shortest_grace: timedelta = timedelta(seconds=2)
    look_again: timedelta = timedelta(seconds=10)
    faster: float = 1.0

    def wait(self, time: timedelta) -> timedelta:
        """Return how long that lasts here."""
        return time / self.faster


@dataclass(frozen=True)
class Why:
    """Why a container waits."""

    reason: str
    message: str = ""


@dataclass(frozen=True)
class End:
    """How a container ended."""

    code: int
    reason: str
    finished: datetime
    started: datetime | None = None
    message: str = ""
    start: int = 0
    """Which of the container's starts it ended."""


@dataclass
class Container:
    """One container of a pod over all its starts; at most one of ``starting``, ``running`` and ``end`` is set."""

    spec: Obj
    sidecar: bool = False
    first: bool = False
    """Whether it is an init container."""
    starting: bool = False
    running: datetime | None = None
    end: End | None = None
    last: End | None = None
    restarts: int = 0
    pulled: bool = False
    why: Why | None = None
    told_to_end: datetime | None = None
    killed: bool = False
    oom: bool = False
    refused: str = ""
    """What kept its program from starting."""
    not_before: datetime | None = None
    back_off: timedelta | None = None
    pull_back_off: timedelta | None = None

    @property
    def name(self) -> str:
        """Return its name."""
        name: str = self.spec["name"]
        return name

    @property
    def alive(self) -> bool:
        """Tell whether its first process is there."""
        return self.starting or self.running is not None

    @property
    def begun(self) -> bool:
        """Tell whether it has run at all."""
        return self.running is not None or self.end is not None or self.last is not None


@dataclass
class Containers:
    """All of a pod's containers, in the order of its spec."""

    inits: Sequence[Container]
    mains: Sequence[Container]
    asked_to_end: datetime | None = None
    """When the kubelet first knew that the pod is to end."""

    @property
    def all(self) -> list[Container]:
        """Return the init containers and the others."""
        return [*self.inits, *self.mains]

    @property
    def sidecars(self) -> list[Container]:
        """Return the init containers that stay."""
        return [one for one in self.inits if one.sidecar]

    def named(self, name: str) -> Container:
        """Return one by its name."""
        return next(one for one in self.all if one.name == name)


@dataclass(frozen=True)
class Shown:
    """What a pod's status says besides its containers."""

    pod_ip: str
    host_ip: str
    since: datetime
    sandbox: bool
    """Whether the pod has its namespaces and address."""


def containers_of(pod: Obj) -> Containers:
    """Return the containers of a pod that no kubelet has started."""
    spec = pod["spec"]
    inits = [
        Container(one, sidecar=one.get("restartPolicy") == "Always", first=True)
        for one in spec.get("initContainers") or ()
    ]
    return Containers(inits, [Container(one) for one in spec["containers"]])
