"""Conditions of nodes as troubles: what a node problem detector found.

A node's Ready is none of them: who is lost with the node is told by its tasks (TaskLost), and a node without tasks of
ours that is lost needs no isolation, since the scheduler keeps off it.
"""

import sys
from collections.abc import Collection
from dataclasses import dataclass

from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.contracts.ids import NodeName
from keepstep.ports.troubles import Shown, Trouble

CONDITIONS = ("KernelDeadlock", "ReadonlyFilesystem", "CorruptDockerOverlay2")
"""What breaks a machine for good. Other conditions of a node problem detector, and a kubelet's pressures, do not hurt a
training that steps: whoever wants one of them to be a fault names it in the settings."""
MOST = 64
"""Troubles of one object that are kept, as many as the detector keeps of one node."""
WORDS = 200


@dataclass(frozen=True, slots=True)
class Noted:
    """An object in a cache, as what it shows; None for one that shows nothing of nodes."""

    uid: ObjectUid
    version: str
    shown: Shown | None


def conditions_of(source: JsonObject, *, named: Collection[str] = CONDITIONS) -> Noted:
    """Return the named conditions of a node that are True."""
    uid, version = ObjectUid(text(source, "metadata", "uid")), text(source, "metadata", "resourceVersion")
    found = (one for one in rows(source, "status", "conditions") if text(one, "type") in named)
    shown = Shown(
        place=uid,
        version=version,
        node=NodeName(sys.intern(text(source, "metadata", "name"))),
        source="node-problem-detector",
        speaks_of=tuple(named),
        troubles=tuple(_condition(one) for one in found if text(one, "status") == "True")[:MOST],
    )
    return Noted(uid, version, shown)


def _condition(found: JsonObject) -> Trouble:
    said = f"{text(found, 'reason')}: {text(found, 'message')}"
    return Trouble(text(found, "type"), text=said[:WORDS], since=text(found, "lastTransitionTime"))
