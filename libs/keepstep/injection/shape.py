"""How manifests of a job kind are written: one description each, in a file of its own, from which the room reads.

It stands beside the kind's ``Kind`` and not in it: whoever restarts jobs writes no manifests, and the adapters know
nothing of this room.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_kind import NOTHING_BELOW, Below, Kind
from keepstep.injection.making import Wanted
from keepstep.injection.objection import Objection
from keepstep.injection.put import Path, spelled

NEVER, EXIT_CODE = "Never", "ExitCode"


@dataclass(frozen=True, slots=True)
class Role:
    """Pods of one template."""

    name: str
    template: Path
    replicas: int
    restart: Path
    """Where the restart policy of its pods stands: by the kind in its own spec or in the pod's."""
    count: Path
    """Where the number stands, for people."""

    @property
    def field(self) -> str:
        """The template's path as people write it."""
        return spelled(self.template)


@dataclass(frozen=True, slots=True)
class Policies:
    """What a kind may say of starting containers again; its pods have Never in each case."""

    accepted: tuple[str, ...] = (NEVER,)
    remedy: str = "set Never"


def _nothing(_source: JsonObject) -> Iterable[Objection]:
    return ()


def _unsaid(_source: JsonObject) -> None:
    return None


def _alone(_job: JsonObject, _runtime: JsonObject | None) -> Below:
    return NOTHING_BELOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The manifests of one kind."""

    kind: Kind
    roles: Callable[[JsonObject], Iterable[Role]]
    """The roles in the order of their ranks; of a kind with a runtime they stand in that."""
    make: Callable[[Wanted], JsonObject]
    """The manifest of a job whose pods all run the same command."""
    odd_counts: Callable[[JsonObject], Iterable[Objection]] = _nothing
    """What keeps its pods from having one rank each."""
    below: Callable[[JsonObject, JsonObject | None], Below] = _alone
    """The objects that a job, with its runtime, will be made of."""
    policies: Policies = Policies()
    container: str | None = None
    """The container that the operator itself takes for the training one."""
    nproc: Callable[[JsonObject], int | None] = _unsaid
    """The ranks per pod that the kind's own field says."""
    by_runtime: bool = False
    """Its pods stand in a runtime that many jobs share, not in the job."""
