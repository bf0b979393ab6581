"""Names of objects in an API server: references, owners, and what keepstep writes on them."""

import sys
from dataclasses import dataclass
from typing import NewType

from keepstep.adapters.kube_json import JsonObject, flag, rows, text

ObjectUid = NewType("ObjectUid", str)
PodUid = NewType("PodUid", ObjectUid)

TERM_CODES = frozenset({137, 143})
"""What a container ends with on SIGKILL and SIGTERM: a job's own policy on these codes is hit by a deletion."""
MARK_PREFIX = "keepstep.io/"
"""Every label, annotation and taint of ours begins so; nothing else is ever ours."""


@dataclass(frozen=True, slots=True)
class OwnerRef:
    """The controller of an object; only ``uid`` identifies it, a name may be given anew."""

    api: str
    kind: str
    name: str
    uid: ObjectUid


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object. ``api`` is ``group/version``, or ``v1`` for the core group."""

    api: str
    kind: str
    namespace: str
    name: str
    uid: ObjectUid

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def reference(source: JsonObject) -> ObjectRef:
    """Return the reference to a whole object."""
    return ObjectRef(
        api=text(source, "apiVersion"),
        kind=text(source, "kind"),
        namespace=text(source, "metadata", "namespace"),
        name=text(source, "metadata", "name"),
        uid=ObjectUid(text(source, "metadata", "uid")),
    )


def controller(source: JsonObject) -> OwnerRef | None:
    """Return the one owner that controls the object; other owners only keep it from being collected."""
    for owner in rows(source, "metadata", "ownerReferences"):
        if flag(owner, "controller"):
            return OwnerRef(
                api=sys.intern(text(owner, "apiVersion")),
                kind=sys.intern(text(owner, "kind")),
                name=sys.intern(text(owner, "name")),
                uid=ObjectUid(sys.intern(text(owner, "uid"))),
            )
    return None


def group(api: str) -> str:
    """Return the API group of ``group/version``, "" for the core group."""
    return api.rpartition("/")[0]
