"""Puts what a node's agent found into the words of the contracts, each with its derived id."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepstep.agent.node.kernel import Seen
from keepstep.agent.node.kmsg import Record
from keepstep.agent.node.looks import Look
from keepstep.contracts.events import DeviceReported, NodeReported
from keepstep.contracts.ids import EventId, NodeName, Pool, derive


@dataclass(frozen=True)
class NodeReporter:
    """One node's voice; ``boot`` is the kernel's, which tells two starts of the machine apart."""

    pool: Pool
    node: NodeName
    boot: str
    faults: frozenset[str] = frozenset()
    """Conditions that hurt a training."""

    def kernel(self, now: datetime, record: Record, seen: Seen, *, left_out: int) -> DeviceReported | NodeReported:
        """Return what a record of the kernel's log shows; ``left_out`` such records before it were not told."""
        text = f"{seen.text} (and {left_out} more since the last)" if left_out else seen.text
        about = self._about(now, "kernel", seen.key, str(record.micros)) | {"once": True, "hurts": seen.hurts}
        if seen.device is None:
            return NodeReported(**about, condition=seen.code, text=text)
        return DeviceReported(**about, device=seen.device, code=seen.code, text=text)

    def condition(self, now: datetime, look: Look, *, active: bool, episode: int) -> NodeReported:
        """Return that a condition has begun, or is over; both of an episode are counted in the agent's state."""
        about = self._about(now, "condition", look.key, str(episode), "on" if active else "off")
        hurts = look.condition in self.faults
        return NodeReported(**about, condition=look.name, text=look.text, active=active, hurts=hurts)

    def _about(self, now: datetime, *natural: str) -> dict[str, Any]:
        said = EventId(derive("observation", "node", self.node, self.boot, *natural))
        return {"id": said, "time": now, "pool": self.pool, "node": self.node}
