"""What keepstep keeps of a job object: all of those that concern it, of other people's only whose they are."""

from collections.abc import Callable
from dataclasses import dataclass

from keepstep.adapters.kube_adopt import asked
from keepstep.adapters.kube_json import NOTHING, JsonObject, table, text
from keepstep.adapters.kube_kind import Kind
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, OwnerRef, controller, reference

_MAKERS = frozenset(kind.resource.kind for kind in KINDS.values() if kind.made_of)
"""Kinds whose child objects tell how their own job stands."""


@dataclass(frozen=True, slots=True)
class JobObject:
    """A job object now; ``source`` is empty where it is nobody's that keepstep could be asked for."""

    ref: ObjectRef
    version: str
    owner: OwnerRef | None
    source: JsonObject

    @property
    def uid(self) -> ObjectUid:
        """Its uid."""
        return self.ref.uid


def job_object(kind: Kind) -> Callable[[JsonObject], JobObject]:
    """Return the projection of one kind; a server leaves out api and kind in the items of a list."""

    def project(source: JsonObject) -> JobObject:
        whole = {**source, "apiVersion": kind.resource.api, "kind": kind.resource.kind}
        owner = controller(source)
        kept = asked(source) or (owner is not None and owner.kind in _MAKERS)
        return JobObject(
            ref=reference(whole),
            version=text(source, "metadata", "resourceVersion"),
            owner=owner,
            source=_slim(whole) if kept else NOTHING,
        )

    return project


def _slim(source: JsonObject) -> JsonObject:
    metadata = {key: said for key, said in table(source, "metadata").items() if key != "managedFields"}
    return {**source, "metadata": metadata}
