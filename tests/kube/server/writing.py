"""What a write may and may not change: identity, the half of the object it is meant for, the generation."""

from dataclasses import dataclass

from . import errors
from .kinds import Kind
from .objects import Obj, copied

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True)
class Author:
    """Who writes, and to which half of the object."""

    manager: str
    subresource: str
    dry_run: bool


def keep_identity(kind: Kind, old: Obj, new: Obj) -> None:
    """Refuse another version or uid; put back what no user may change."""
    meta, was = new.setdefault("metadata", {}), old["metadata"]
    if meta.get("resourceVersion", was["resourceVersion"]) not in {"", was["resourceVersion"]}:
        raise errors.conflict(kind, was["name"])
    if meta.get("uid", was["uid"]) not in {"", was["uid"]}:
        cause = errors.Cause("metadata.uid", f'Invalid value: "{meta["uid"]}": field is immutable')
        raise errors.invalid(kind, was["name"], [cause, cause])
    if meta.get("deletionTimestamp", was.get("deletionTimestamp")) != was.get("deletionTimestamp"):
        told = f"Invalid value: {meta['deletionTimestamp']}: field is immutable"
        raise errors.invalid(kind, was["name"], [errors.Cause("metadata.deletionTimestamp", told)])
    for kept in _KEPT:
        if kept in was:
            meta[kept] = was[kept]
        else:
            meta.pop(kept, None)
    new |= {"apiVersion": kind.api_version, "kind": kind.kind}


_KEPT = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
)


def keep_other_half(kind: Kind, old: Obj, new: Obj, subresource: str) -> None:
    """A write to the object leaves its status, one to the status leaves the rest (a CRD's metadata too)."""
    if not kind.status or subresource == "binding":
        return
    if subresource != "status":
        _restore(new, old, "status")
        return
    for part in set(old) | set(new):
        if part not in {"status", "metadata"}:
            _restore(new, old, part)
    if kind.crd:
        managed_fields = new["metadata"].get("managedFields")
        new["metadata"] = copied(old["metadata"])
        if managed_fields is not None:
            new["metadata"]["managedFields"] = managed_fields


def _restore(new: Obj, old: Obj, part: str) -> None:
    if part in old:
        new[part] = old[part]
    else:
        new.pop(part, None)


def said(kind: Kind, obj: Obj) -> Obj:
    """Return the part whose change raises the generation: a CRD's whole body, else the spec."""
    if kind.crd:
        return {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
    return {"spec": obj.get("spec")}


def suffix(number: int) -> str:
    """Return five letters as generateName adds; unlike the real ones they follow from the count."""
    mixed = number * 7_368_787 % len(_SUFFIX) ** 5
    letters = ""
    for _ in range(5):
        mixed, at = divmod(mixed, len(_SUFFIX))
        letters += _SUFFIX[at]
    return letters
