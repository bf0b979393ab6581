"""How one device of a node is kept from jobs: pure, both ways.

The annotation on the node is keepstep's own record, and what a device plugin that knows keepstep reads. MindCluster's
device plugin reads the key ``ManuallySeparateNPU`` of the node's ConfigMap: there a device is out only while it stands
in both, so that whoever deletes it there by hand, as the vendor's manual says, is seen and respected.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from keepstep.adapters.kube_cordon import LONGEST_REASON, UNKNOWN_SINCE
from keepstep.adapters.kube_json import JsonObject, table, text
from keepstep.adapters.kube_node import Node
from keepstep.adapters.kube_objects import MARK_PREFIX, ObjectRef, ObjectUid
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.core.json_text import parsed
from keepstep.ports.cluster import CordonMark, Withheld

DEVICES = f"{MARK_PREFIX}isolated-devices"
SYSTEM = "kube-system"
DEVICE_INFO = "mindx-dl-deviceinfo-"
_SEPARATED = "ManuallySeparateNPU"
_NPU = re.compile(r"^(?:Ascend\d+[A-Z]?|npu)-\d+$")


@dataclass(frozen=True, slots=True)
class Separated:
    """The devices that a node's ConfigMap keeps out, keepstep's and others'."""

    uid: ObjectUid
    version: str
    node: NodeName | None
    devices: frozenset[str] = frozenset()


def separated_of(source: JsonObject) -> Separated:
    """Return what is kept of a ConfigMap; ``node`` is None for one that says nothing of devices."""
    name = text(source, "metadata", "name")
    return Separated(
        uid=ObjectUid(text(source, "metadata", "uid")),
        version=text(source, "metadata", "resourceVersion"),
        node=NodeName(name.removeprefix(DEVICE_INFO)) if name.startswith(DEVICE_INFO) else None,
        devices=frozenset(_listed(source)),
    )


def device_info(node: NodeName) -> ObjectRef:
    """Return the reference to the node's ConfigMap."""
    return ObjectRef("v1", "ConfigMap", SYSTEM, f"{DEVICE_INFO}{node}", ObjectUid(""))


def is_npu(device: str) -> bool:
    """Return whether MindCluster would know a device by this name."""
    return bool(_NPU.match(device))


def withheld_of(node: Node, separated: Separated | None) -> tuple[Withheld, ...]:
    """Return the devices of the node that keepstep withholds; one that a hand gave back elsewhere is none."""
    noted = _noted(dict(node.marks).get(DEVICES, ""))
    return tuple(
        Withheld(device, _mark(said))
        for device, said in noted.items()
        if separated is None or not is_npu(device) or device in separated.devices
    )


def noted(source: JsonObject, device: str, mark: CordonMark | None) -> JsonObject | None:
    """Return the patch of the node's annotation; ``mark`` None takes the device off. None where it is so already."""
    known = _noted(text(source, "metadata", "annotations", DEVICES))
    after = {name: said for name, said in known.items() if name != device}
    if mark is not None:
        after[device] = {
            "by": mark.owner,
            "because": mark.reason[:LONGEST_REASON],
            "at": mark.at.isoformat(),
            "incident": mark.incident or "",
        }
    if after == known:
        return None
    value = json.dumps(after, sort_keys=True) if after else None
    return {"metadata": {"annotations": {DEVICES: value}}}


def separated(source: JsonObject, device: str, *, out: bool) -> JsonObject | None:
    """Return the patch of the ConfigMap that puts the device on its list or takes it off; None where it is so."""
    known = _listed(source)
    if (device in known) is out:
        return None
    after = [*known, device] if out else [one for one in known if one != device]
    return {"data": {_SEPARATED: ",".join(after)}}


def _listed(source: JsonObject) -> tuple[str, ...]:
    said = text(source, "data", _SEPARATED)
    return tuple(one.strip() for one in said.split(",") if one.strip())


def _noted(said: str) -> Mapping[str, JsonObject]:
    """Return the annotation's content; what a hand garbled is no isolation of ours any more."""
    try:
        found = parsed(said) if said else {}
    except json.JSONDecodeError:
        return {}
    return {name: table(found, name) for name in found} if isinstance(found, dict) else {}


def _mark(said: JsonObject) -> CordonMark:
    incident, since = text(said, "incident"), text(said, "at")
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        at = UNKNOWN_SINCE
    return CordonMark(
        owner=text(said, "by"),
        reason=text(said, "because"),
        at=at,
        incident=IncidentId(incident) if incident else None,
    )
