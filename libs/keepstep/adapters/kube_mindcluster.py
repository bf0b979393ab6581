"""Reads the ConfigMaps of MindCluster: a node's NPUs, switches (kube-system) and host devices (mindx-dl).

A ConfigMap whose check code does not fit its content is refused, as MindCluster's own readers do; pure.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from keepstep.adapters.kube_devices import DEVICE_INFO
from keepstep.adapters.kube_json import JsonObject, number, rows, table, text, words
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_trouble import MOST, WORDS, Noted
from keepstep.contracts.ids import NodeName
from keepstep.core.json_text import parsed
from keepstep.ports.troubles import Shown, Trouble

NODE_INFO = "mindx-dl-nodeinfo-"
HOSTS = "mindx-dl"
"""The namespace of NodeD's ConfigMaps."""
SOURCE = "mindcluster"
NPUS = ("device Ascend", "device npu-")
SWITCH = f"{SOURCE} switch "
HOST = f"{SOURCE} host "
"""How what these ConfigMaps show is named where it is reported."""
FAULTS = frozenset(
    {
        "RestartRequest", "RestartBusiness", "FreeRestartNPU", "RestartNPU", "SeparateNPU", "ManuallySeparateNPU",
        "RestartRequestFault", "ResetFault", "SeparateFault",
    }
)  # fmt: skip
"""Levels that hurt a training that runs. The others (NotHandle, SubHealth, PreSeparate) leave it alone until it fails,
and keep new jobs away by MindCluster's own means."""
ECHO = "AutofillFaultCode"
"""The code of a device that is on the list of separated ones for no fault the plugin knows: keepstep put it there."""
_OCCURRED = 1
_GO_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Garbled(ValueError):
    """A ConfigMap says nothing that can be trusted."""


def shown_of(source: JsonObject) -> Noted:
    """Return what a ConfigMap shows, nothing for one that is none of MindCluster's."""
    name = text(source, "metadata", "name")
    if name.startswith(DEVICE_INFO):
        return _noted(source, DEVICE_INFO, (*NPUS, SWITCH), lambda: (*_of_devices(source), *_of_switches(source)))
    if name.startswith(NODE_INFO):
        return _noted(source, NODE_INFO, (HOST,), lambda: tuple(_of_host(source)))
    return Noted(*_identity(source), shown=None)


def _noted(
    source: JsonObject, prefix: str, speaks_of: tuple[str, ...], read: Callable[[], tuple[Trouble, ...]]
) -> Noted:
    uid, version = _identity(source)
    name = text(source, "metadata", "name")
    shown = Shown(
        place=uid, version=version, node=NodeName(name.removeprefix(prefix)), source=SOURCE, speaks_of=speaks_of
    )
    try:
        troubles = tuple(one for one in read() if one.level in FAULTS)[:MOST]
    except Garbled as garbled:
        return Noted(uid, version, replace(shown, refused=f"ConfigMap {name} is not taken: {garbled}"))
    return Noted(uid, version, replace(shown, troubles=troubles))


def _identity(source: JsonObject) -> tuple[ObjectUid, str]:
    return ObjectUid(text(source, "metadata", "uid")), text(source, "metadata", "resourceVersion")


def check_code(content: object) -> str:
    """Return SHA-256 over the content as Go's encoding/json writes it: compact, with HTML's characters escaped."""
    said = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    for plain, escaped in _GO_ESCAPES.items():
        said = said.replace(plain, escaped)
    return hashlib.sha256(said.encode()).hexdigest()


def _of_devices(source: JsonObject) -> Iterator[Trouble]:
    devices = table(_checked(source, "DeviceInfoCfg", "DeviceInfo"), "DeviceList")
    for name, listed in devices.items():
        if name.endswith("-Fault"):
            for fault in _rows(listed, name):
                yield from _of_device(fault)


def _of_device(fault: JsonObject) -> Iterator[Trouble]:
    """Yield the faults of one chip, a code each. Faults of its network alone hurt nobody until a process fails."""
    device, kind = text(fault, "npu_name"), text(fault, "fault_type")
    if not device or kind == "CardNetworkUnhealthy":
        return
    for code in filter(None, (one.strip() for one in text(fault, "fault_code").split(","))):
        if code == ECHO:
            continue
        known = table(fault, "fault_time_and_level_map", code)
        level = text(known, "fault_level") or text(fault, "fault_level")
        yield _trouble(code, level, known, kind, device=device)


def _of_switches(source: JsonObject) -> Iterator[Trouble]:
    said = text(source, "data", "SwitchInfoCfg")
    if not said:
        return
    found = _object(said, "SwitchInfoCfg")
    for fault in _rows(found.get("FaultCode"), "FaultCode"):
        if number(fault, "Assertion", default=_OCCURRED) != _OCCURRED:
            continue
        code = text(fault, "AssembledFaultCode")
        chip, port = number(fault, "SwitchChipId"), number(fault, "SwitchPortId")
        known = table(found, "FaultTimeAndLevelMap", f"{code}_{chip}_{port}")
        level = text(known, "fault_level") or text(found, "FaultLevel")
        yield _trouble(f"{SWITCH}{code} chip {chip} port {port}", level, known, "switch")


def _of_host(source: JsonObject) -> Iterator[Trouble]:
    for fault in rows(_checked(source, "NodeInfo", "NodeInfo"), "FaultDevList"):
        for code in words(fault, "FaultCode"):
            where = f"{text(fault, 'DeviceType')} {number(fault, 'DeviceId')}"
            yield _trouble(f"{HOST}{where} {code}", text(fault, "FaultLevel"), {}, "host")


def _trouble(code: str, level: str, known: JsonObject, kind: str, *, device: str | None = None) -> Trouble:
    since = number(known, "fault_time")
    said = f"MindCluster level {level}, {kind}"
    return Trouble(code, device, level=level, text=said[:WORDS], since=str(since) if since else "")


def _checked(source: JsonObject, key: str, part: str) -> JsonObject:
    """Return the content whose check code fits. Raises Garbled."""
    found = _object(text(source, "data", key), key)
    content = table(found, part)
    if not content or text(found, "CheckCode") != check_code(content):
        raise Garbled(f"the check code of {key} does not fit its content")
    return content


def _object(said: str, key: str) -> JsonObject:
    try:
        found = parsed(said)
    except json.JSONDecodeError as error:
        raise Garbled(f"{key} is no JSON ({error})") from error
    if not isinstance(found, Mapping):
        raise Garbled(f"{key} is no JSON object")
    return found


def _rows(listed: object, name: str) -> tuple[JsonObject, ...]:
    """Return the objects of a list that may be written as text, as may each of its items. Raises Garbled."""
    try:
        found = parsed(listed or "[]") if isinstance(listed, str) else listed or []
        if not isinstance(found, list):
            raise Garbled(f"{name} is no list")
        items = [parsed(one) if isinstance(one, str) else one for one in found]
    except json.JSONDecodeError as error:
        raise Garbled(f"{name} is no JSON ({error})") from error
    return rows({"items": items}, "items")
