"""What keepstep keeps of a node: whether it answers, what keeps pods off it and who put that there."""

import sys
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from keepstep.adapters.kube_json import JsonObject, condition, flag, instant, rows, table, text
from keepstep.adapters.kube_objects import MARK_PREFIX, ObjectUid
from keepstep.contracts.ids import NodeName

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Set by a person or a provider who knows that the machine is off: pods there may be removed for good."""
ISOLATED = "keepstep.io/isolated"
USABLE = "keepstep.io/usable"
"""A label that TrainJobs select by where a node can neither be cordoned nor tainted."""
WITHHOLDS = "keepstep.io/withholds-devices"
"""A label by which an operator vouches that the node's device plugin leaves out ``keepstep.io/isolated-devices``."""
_SYSTEM_TAINTS = "node.kubernetes.io/"


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint; key and effect together are its identity."""

    key: str
    effect: Effect
    value: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node now."""

    uid: ObjectUid
    name: NodeName
    version: str
    ready: bool
    since: datetime | None = None
    """Since when it is ready, or is not."""
    because: str = ""
    """The Ready condition's reason; ``NodeStatusUnknown`` when the kubelet went silent."""
    group: str | None = None
    usable: bool = False
    """It carries the label that TrainJobs may select by."""
    withholds: bool = False
    """It carries the label that vouches for its device plugin."""
    unschedulable: bool = False
    cordoned_by: str = ""
    """Who manages the cordon flag, where the server says it: ``kubectl-cordon``, ``kubectl-drain``."""
    taints: tuple[Taint, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    """Annotations of keepstep's own."""
    troubles: tuple[str, ...] = ()
    """Other conditions that are True now: pressures, and what a node problem detector found."""

    @property
    def closed(self) -> bool:
        """Whether new pods without a toleration stay off."""
        return self.unschedulable or any(taint.effect is not Effect.PREFER_NO_SCHEDULE for taint in self.taints)

    @property
    def out_of_service(self) -> bool:
        """Whether somebody vouches for its being off."""
        return any(taint.key == OUT_OF_SERVICE for taint in self.taints)

    @property
    def evicts(self) -> Taint | None:
        """The taint that drives pods away and is not the node controller's own."""
        return next(
            (
                taint
                for taint in self.taints
                if taint.effect is Effect.NO_EXECUTE and not taint.key.startswith(_SYSTEM_TAINTS)
            ),
            None,
        )


def node_of(source: JsonObject, *, group_label: str = "") -> Node:
    """Return what is kept of a node object; ``group_label`` names the label that holds its group."""
    ready = condition(source, "Ready")
    labels = table(source, "metadata", "labels")
    return Node(
        uid=ObjectUid(text(source, "metadata", "uid")),
        name=NodeName(sys.intern(text(source, "metadata", "name"))),
        version=text(source, "metadata", "resourceVersion"),
        ready=text(ready, "status") == "True",
        since=instant(ready, "lastTransitionTime"),
        because=sys.intern(text(ready, "reason")),
        group=sys.intern(text(labels, group_label)) or None,
        usable=text(labels, USABLE) == "yes",
        withholds=text(labels, WITHHOLDS) == "yes",
        unschedulable=flag(source, "spec", "unschedulable"),
        cordoned_by=sys.intern(_cordoner(source)) if flag(source, "spec", "unschedulable") else "",
        taints=tuple(
            Taint(sys.intern(text(one, "key")), Effect(text(one, "effect")), sys.intern(text(one, "value")))
            for one in rows(source, "spec", "taints")
        ),
        marks=tuple(
            sorted(
                (name, str(said))
                for name, said in table(source, "metadata", "annotations").items()
                if name.startswith(MARK_PREFIX)
            )
        ),
        troubles=tuple(
            sys.intern(text(one, "type"))
            for one in rows(source, "status", "conditions")
            if text(one, "status") == "True" and text(one, "type") != "Ready"
        ),
    )


def _cordoner(source: JsonObject) -> str:
    for entry in rows(source, "metadata", "managedFields"):
        if "f:unschedulable" in table(entry, "fieldsV1", "f:spec"):
            return text(entry, "manager")
    return ""
