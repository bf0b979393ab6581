"""Which devices this task was given, as MindCluster's device plugin notes them on the pod."""

import json
from collections.abc import Mapping

from keepstep.contracts.topology import Device

VARIABLE = "KEEPSTEP_ASCEND_DEVICES"
"""The pod's annotation, by the downward API: ``{"server_id": .., "devices": [{"device_id": .., "device_ip": ..}]}``."""


def devices_of(environ: Mapping[str, str]) -> tuple[Device, ...]:
    """Return the devices in the order of their numbers, none where nothing is told; raises ValueError for garbage."""
    text = environ.get(VARIABLE, "")
    if not text:
        return ()
    try:
        told = json.loads(text)["devices"]
        found = [
            Device(
                id=str(one["device_id"]),
                address=str(one.get("device_ip", "")),
                super_id=str(one.get("super_device_id", "")),
            )
            for one in told
        ]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{VARIABLE} is no list of devices ({error!r}): {text[:200]}") from error
    return tuple(sorted(found, key=lambda device: (len(device.id), device.id)))
