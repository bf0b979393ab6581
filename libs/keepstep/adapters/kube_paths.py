"""The path of every object that keepstep reads or writes, by what its reference says."""

from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.adapters.kube_resources import NOT_JOBS, Resource
from keepstep.ports.errors import Permanent

_KNOWN = {(each.api, each.kind): each for each in (*NOT_JOBS, *(kind.resource for kind in KINDS.values()))}


def resource_of(api: str, kind: str) -> Resource:
    """Return the collection of a kind; raises Permanent for one that keepstep does not know."""
    found = _KNOWN.get((api, kind))
    if found is None:
        raise Permanent(f"{kind} of {api} is none of the kinds that keepstep reads or writes")
    return found


def path_of(ref: ObjectRef, sub: str = "") -> str:
    """Return the path of an object or of its subresource."""
    return resource_of(ref.api, ref.kind).path(ref.namespace, ref.name, sub)
