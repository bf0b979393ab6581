"""All nodes that the stream or the cluster names: what is isolated and why, and what was said of each."""

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from keepstep.console.model.recent import event_view
from keepstep.console.views import EventView, IsolationView
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.message import Message, Order
from keepstep.core.isolation_end import isolation_end
from keepstep.core.node_standing import NodeState, is_over, node_states
from keepstep.ports.cluster import CordonMark, NodeStatus

KEPT = 20_000
EVENTS_KEPT = 50
ORDERS_KEPT = 1000
LOOKED_AT = 64
TOLD: tuple[type[Message], ...] = (
    e.NodeIsolated,
    e.DeviceIsolated,
    e.NodeReleased,
    e.DeviceReleased,
    e.ReleaseDeclined,
    e.NodeDrained,
    e.NodeRecovered,
    e.NodeRelapsed,
    o.IsolateNode,
    o.ReleaseNode,
    o.DrainNode,
)
"""What is shown of a node's past beside its faults."""


@dataclass
class KeptNode:
    """One node."""

    name: NodeName
    isolation: IsolationView | None = None
    devices: dict[str, IsolationView] = field(default_factory=dict)
    status: NodeStatus | None = None
    """As the cluster had it when it was looked at last; None where no cluster tells."""
    released: datetime | None = None
    """When it was released last."""
    events: deque[EventView] = field(default_factory=lambda: deque(maxlen=EVENTS_KEPT))
    faults: int = 0
    last_fault: datetime | None = None

    @property
    def mark(self) -> CordonMark | None:
        """What the cluster keeps jobs off it by; one that a release has taken off since it was looked at is none."""
        found = None if self.status is None else self.status.mark
        return None if found is None or is_over(found.owner, found.at, self.released) else found

    @property
    def ready(self) -> bool | None:
        """Whether the cluster has it ready; None where no cluster tells."""
        return None if self.status is None else self.status.ready

    @property
    def states(self) -> tuple[NodeState, ...]:
        """All that holds of it, the gravest first."""
        return node_states(ready=self.ready, isolated=self.isolation is not None or self.mark is not None)


class Nodes:
    """The nodes by name, who was heard of last at the end."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._nodes: OrderedDict[NodeName, KeptNode] = OrderedDict()
        self._by: OrderedDict[EventId, str] = OrderedDict()
        """Who gave an order, by its id: an isolation names its cause alone."""

    def __iter__(self) -> Iterator[KeptNode]:
        return iter(self._nodes.values())

    def hear(self, message: Message, cursor: int) -> None:
        """Take in one message."""
        if isinstance(message, Order):
            self._by[message.id] = message.by
            if len(self._by) > ORDERS_KEPT:
                self._by.popitem(last=False)
        if isinstance(message, e.JobStarted | e.RanksStarted):
            for placed in message.placement:
                self._node(placed.node)
        if message.node is not None and not isinstance(message, e.DeadlinePassed | e.FoldRestated):
            node = self._node(message.node)
            if isinstance(message, TOLD):
                node.events.append(event_view(message, cursor))
            self._follow(node, message)

    def _follow(self, node: KeptNode, message: Message) -> None:
        match message:
            case e.NodeIsolated():
                node.isolation = self._isolation(message)
            case e.DeviceIsolated():
                node.devices[message.device] = self._isolation(message, message.device)
            case e.NodeReleased():
                node.isolation, node.released = None, message.time
            case e.DeviceReleased():
                node.devices.pop(message.device, None)
            case e.FaultDetected():
                node.faults += 1
                node.last_fault = message.time
            case _:
                return

    def _isolation(self, said: e.NodeIsolated | e.DeviceIsolated, device: str | None = None) -> IsolationView:
        return IsolationView(
            device=device,
            reason=said.reason,
            because=said.because,
            since=said.time,
            until=said.until,
            ends=isolation_end(said),
            by=self._by.get(said.cause, "") if said.cause is not None else "",
        )

    def _node(self, name: NodeName) -> KeptNode:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = KeptNode(name)
        self._nodes.move_to_end(name)
        while len(self._nodes) > self._kept:
            first = list(islice(self._nodes.values(), LOOKED_AT))
            idle = (one for one in first if one.isolation is None and one.status is None)
            del self._nodes[next(idle, first[0]).name]
        return node

    def fleet(self, nodes: Mapping[NodeName, NodeStatus]) -> None:
        """Take in how the cluster has its nodes now."""
        for node in self._nodes.values():
            node.status = None
        for name, status in islice(nodes.items(), self._kept):
            self._node(name).status = status

    def count(self, state: NodeState) -> int:
        """Return how many nodes this holds of."""
        return sum(state in node.states for node in self)

    def get(self, name: NodeName) -> KeptNode | None:
        """Return the node of this name."""
        return self._nodes.get(name)
