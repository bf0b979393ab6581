"""What a record of the kernel's log says of devices and node: a table, the first row that fits speaks.

Only rows that hurt make a fault; the rest is for people to see coming. Codes and verdicts are those of NVIDIA's public
Xid catalogue: what it answers with a restart of the application or nothing at all is the training's own matter and no
row. A larger catalogue is more rows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from keepstep.agent.node.kmsg import Record

LONGEST = 400
"""Characters of a record that are told."""
RESET_XIDS = frozenset({48, 62, 64, 79, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158})
"""The device has to be reset or replaced, and what runs on it is lost."""
TOLD_XIDS = frozenset({74, 109, *range(122, 126), 144, 145, 146, 147, 148, 149, 150, 151, 154})
"""A link, a hanging application, or the driver's own advice: people should know, a training may well go on."""
FABRIC_SXIDS = frozenset({12020, 22003, 22011, *range(23001, 23018)})
"""Of a switch, always fatal to the whole fabric of the machine."""
_PCI = r"(?:PCI:)?(?P<device>[0-9a-fA-F:.]+)"


@dataclass(frozen=True)
class Row:
    """One kind of record; ``device`` and ``number`` are groups of the regex where it has them.

    ``hurts`` are the numbers that hurt and ``told`` those that are only told; of a record without a number ``always``
    says whether it hurts.
    """

    name: str
    regex: str
    always: bool = False
    hurts: frozenset[int] = field(default=frozenset())
    told: frozenset[int] = field(default=frozenset())

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled regex."""
        return re.compile(self.regex)


ROWS: tuple[Row, ...] = (
    Row("Xid", rf"NVRM: Xid \({_PCI}\): (?P<number>\d+)\b", hurts=RESET_XIDS, told=TOLD_XIDS),
    Row("GpuLost", rf"NVRM: The NVIDIA GPU {_PCI}[\s\S]*fallen off the bus", always=True),
    # A line that begins with a severity is a detail of the one before.
    Row("SXid", rf"nvidia-nvswitch\d+: SXid \({_PCI}\): (?P<number>\d+), (?!Severity)", hurts=FABRIC_SXIDS),
    Row("NicFailed", rf"mlx5_core {_PCI}: poll_health:.*Fatal error", always=True),
    Row("NicPower", rf"mlx5_core {_PCI}: .*Detected insufficient power"),
    Row("PcieFatal", rf"AER: Uncorrected \(Fatal\) error received: {_PCI}", always=True),
    Row("NvmeLost", r"nvme (?P<device>nvme\d+): Disabling device after reset failure", always=True),
    Row("NvmePath", r"block (?P<device>nvme\w+): no available path"),
    Row("MachineCheck", r"Machine Check Exception|\[Hardware Error\]: event severity: fatal", always=True),
    Row("FilesystemDown", r"XFS \([^)]*\):.*[Ss]hutting down filesystem|Remounting filesystem read-only", always=True),
    Row("FilesystemError", r"EXT4-fs error|EXT4-fs \([^)]*\): I/O error"),
    Row("SoftLockup", r"BUG: soft lockup"),
    Row("HungTask", r"INFO: task \S+ blocked for more than \d+ seconds"),
    Row("KernelOops", r"BUG: unable to handle"),
    Row("SystemOutOfMemory", r"^Out of memory: Killed process"),
)


@dataclass(frozen=True)
class Seen:
    """One finding in the kernel's log; ``device`` is None where it is about the node."""

    code: str
    device: str | None
    hurts: bool
    text: str

    @property
    def key(self) -> str:
        """What is the same thing again."""
        return f"{self.code}/{self.device or ''}"


def seen_in(record: Record) -> Seen | None:
    """Return what a record says, None for what is of no concern to a training."""
    return next(_readings(record), None)


def _readings(record: Record) -> Iterator[Seen]:
    for row in ROWS:
        found = row.pattern.search(record.text)
        if found is None:
            continue
        groups, text = found.groupdict(), " ".join(record.text.split())[:LONGEST]
        if groups.get("number") is None:
            yield Seen(row.name, groups.get("device"), row.always, text)
        elif int(groups["number"]) in row.hurts | row.told:
            code = f"{row.name} {groups['number']}"
            yield Seen(code, groups.get("device"), int(groups["number"]) in row.hurts, text)
        return
