"""What a delete does to an object: grace, finalizers and propagation, as the generic registry of the real server.

Rules read from k8s.io/apiserver pkg/registry/rest/delete.go and generic/registry/store.go; seen in traces api/*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .errors import precondition
from .kinds import Dependents, Kind
from .objects import Obj, instant, read_instant

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_DEFAULT_GRACE = 30


@dataclass(frozen=True)
class DeleteOptions:
    """The body of a delete; ``propagation`` is Background, Foreground or Orphan, None for the kind's own default."""

    grace: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None
    dry_run: bool = False

    @staticmethod
    def read(body: Mapping[str, Any]) -> "DeleteOptions":
        """Read a v1 DeleteOptions."""
        preconditions = body.get("preconditions") or {}
        propagation = body.get("propagationPolicy")
        if propagation is None and "orphanDependents" in body:
            propagation = "Orphan" if body["orphanDependents"] else "Background"
        return DeleteOptions(
            grace=body.get("gracePeriodSeconds"),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            propagation=propagation,
            dry_run=bool(body.get("dryRun")),
        )


def check_preconditions(kind: Kind, obj: Obj, options: DeleteOptions) -> None:
    """Refuse (409) a delete that means another object or an older state of it."""
    meta = obj["metadata"]
    if options.uid and options.uid != meta["uid"]:
        raise precondition(kind, meta["name"], what="UID", asked=options.uid, found=meta["uid"])
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        asked, found = options.resource_version, meta["resourceVersion"]
        raise precondition(kind, meta["name"], what="ResourceVersion", asked=asked, found=found)


def mark(kind: Kind, obj: Obj, options: DeleteOptions, now: datetime) -> bool:
    """Write what the delete changes into ``obj``; return whether it may go at once when no finalizer holds it."""
    _set_propagation(kind, obj, options)
    if kind.graceful:
        return _mark_graceful(obj, options, now)
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = instant(now)
        if meta.get("generation"):
            meta["generation"] += 1
    meta["deletionGracePeriodSeconds"] = 0
    if obj["kind"] == "Namespace":
        obj["status"]["phase"] = "Terminating"
    return True


def may_go(obj: Obj) -> bool:
    """Tell whether an object that is being deleted has nothing left to wait for."""
    meta = obj["metadata"]
    dying = "deletionTimestamp" in meta and not meta.get("deletionGracePeriodSeconds")
    held = meta.get("finalizers") or (obj["kind"] == "Namespace" and obj["spec"].get("finalizers"))
    return dying and not held


def _mark_graceful(obj: Obj, options: DeleteOptions, now: datetime) -> bool:
    meta = obj["metadata"]
    had = meta.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" in meta:
        if options.grace is None or options.grace >= had:
            return bool(had == 0)
        earlier = timedelta(seconds=had - options.grace)
        meta["deletionTimestamp"] = instant(read_instant(meta["deletionTimestamp"]) - earlier)
        meta["deletionGracePeriodSeconds"] = options.grace
        return options.grace == 0
    grace = _pod_grace(obj, options)
    meta["deletionTimestamp"] = instant(now + timedelta(seconds=grace))
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1
    return grace == 0


def _pod_grace(pod: Obj, options: DeleteOptions) -> int:
    """Return the seconds: none for a pod without a node or one that has ended (pod strategy CheckGracefulDelete)."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in {"Failed", "Succeeded"}:
        return 0
    asked = options.grace if options.grace is not None else pod["spec"].get("terminationGracePeriodSeconds")
    return max(_DEFAULT_GRACE if asked is None else asked, 0)


def _set_propagation(kind: Kind, obj: Obj, options: DeleteOptions) -> None:
    meta = obj["metadata"]
    kept = [one for one in meta.get("finalizers") or [] if one not in {FOREGROUND, ORPHAN}]
    match options.propagation or kind.dependents:
        case "Foreground":
            kept.append(FOREGROUND)
        case "Orphan":
            kept.append(ORPHAN)
        case Dependents.BACKGROUND | _:
            pass
    if options.propagation is None:
        held = {FOREGROUND, ORPHAN} & set(meta.get("finalizers") or [])
        kept = list(meta.get("finalizers") or []) if held else kept
    if kept:
        meta["finalizers"] = kept
    else:
        meta.pop("finalizers", None)
