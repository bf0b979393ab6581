"""Codes of public faults that are known, with the level of each: those that MindCluster ships (2026-08).

Nine digits: what it is on (0 chip, 1 node, 2 network, 3 storage), its level, ``00``, 0 or 1 for a user's own, and a
serial of four. A user's own are configured as ``CODE=LEVEL``.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from keepstep.ports.errors import Permanent

SHAPE = re.compile(r"[0-3]\d00[01]\d{4}")
TYPES: Mapping[str, str] = MappingProxyType({"NPU": "0", "Node": "1", "Network": "2", "Storage": "3"})
"""First digit of a code by what a report says that the fault is on."""
HURTING = frozenset(
    {"RestartRequest", "RestartBusiness", "FreeRestartNPU", "RestartNPU", "SeparateNPU", "ManuallySeparateNPU"}
)
"""Levels from which a training that runs suffers; the others are for people to know."""
LEVELS = HURTING | {"NotHandleFault", "SubHealthFault", "PreSeparateNPU"}
_SHIPPED: Mapping[str, str] = {
    "NotHandleFault": "100001011 200001002 200001006 200001010 200001011 200001012",
    "SubHealthFault": (
        "010001001 010001002 010001004 020000002 110000002 110001010 110001020 110001021 210001007 210001008"
        " 210001009 310001005"
    ),
    "PreSeparateNPU": "110001022 110001023 110001024",
    "SeparateNPU": (
        "020001001 020001002 020001003 020001004 120001001 120001002 120001003 220001001 220001002 220001003"
        " 220001004 220001005 220001006 220001007"
    ),
}


def known(own: Iterable[str] = ()) -> Mapping[str, str]:
    """Return the level of every code that is known; raises Permanent for a configured one that is none."""
    found = {code: level for level, codes in _SHIPPED.items() for code in codes.split()}
    for each in own:
        code, _, level = each.partition("=")
        if not SHAPE.fullmatch(code) or level not in LEVELS:
            raise Permanent(
                f"KEEPSTEP_CONSOLE_FAULT_CODES {each!r}: write CODE=LEVEL, a code of nine digits such as 100010001"
                f" and one of {', '.join(sorted(LEVELS))}"
            )
        found[code] = level
    return found
