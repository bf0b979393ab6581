"""The whole of it: one message or heartbeat in, every part brought up to date."""

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from keepstep.console.model.counts import Counts
from keepstep.console.model.faults import Faults
from keepstep.console.model.incidents import Incidents
from keepstep.console.model.jobs import Jobs
from keepstep.console.model.nodes import Nodes
from keepstep.console.model.orders import Orders
from keepstep.console.model.places import Places
from keepstep.console.model.recent import Recent
from keepstep.console.views import EventView
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.telemetry import Heartbeat
from keepstep.ports.cluster import NodeStatus

K = TypeVar("K")
V = TypeVar("V")

FAULTS_WAITING = 4096
"""Faults until a verdict names them: a gang of 4,096 ranks that dies of one."""
TASKS_NAMED = 20_000


class PoolModel:
    """What is known of one pool."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.places = Places()
        self.jobs = Jobs(self.places)
        self.orders = Orders()
        self.incidents = Incidents()
        self.faults = Faults(self.places)
        self.nodes = Nodes()
        self.recent = Recent()
        self.counts = Counts()
        self.paused = False
        self.blind = ""
        """Why the detector takes itself for blind; empty while it sees."""
        self._waiting: OrderedDict[EventId, e.FaultDetected] = OrderedDict()
        self._tasks: OrderedDict[TaskUid, str] = OrderedDict()

    def hear(self, message: Message, cursor: int) -> EventView | None:
        """Take in a message of the stream; return how it is listed, None of what is no news or was heard before."""
        if message.pool != self.pool or not self.counts.fresh(message):
            return None
        if isinstance(message, e.FaultDetected):
            _keep(self._waiting, message.id, message, FAULTS_WAITING)
        if isinstance(message, e.TaskJoined):
            _keep(self._tasks, message.ref.uid, message.ref.name, TASKS_NAMED)
        self.faults.hear(message)
        job = self.jobs.hear(message)
        self.orders.hear(message)
        self.nodes.hear(message, cursor)
        self.counts.hear(message, job, self.faults.source_of(_named(message)))
        changed = self.incidents.hear(message, self._waiting, self._tasks)
        if changed is not None:
            before, after = changed
            self.counts.changed(before, after, message.time)
            if isinstance(message, e.IncidentClosed) and (before is None or before.outcome is None):
                self.counts.closed(message, job)
        self._standing(message)
        return self.recent.hear(message, cursor)

    def _standing(self, message: Message) -> None:
        match message:
            case e.ActionsPaused(job=None):
                self.paused = True
            case e.ActionsResumed(job=None):
                self.paused = False
            case e.DetectorBlinded():
                self.blind = message.because
            case e.DetectorSighted():
                self.blind = ""
            case _:
                return

    def feel(self, beat: Heartbeat, now: datetime) -> None:
        """Take in a heartbeat that came now."""
        self.jobs.feel(beat, now)

    def tick(self, now: datetime) -> None:
        """Take stock of what the heartbeats say; once a second is enough for people."""
        self.jobs.tick(now)

    def fleet(self, nodes: Mapping[NodeName, NodeStatus], now: datetime) -> bool:
        """Take in how the cluster has its nodes now; return whether that changes what is shown of them."""
        before = {node.name: node.states for node in self.nodes}
        self.nodes.fleet(nodes)
        self.faults.look({name for name, status in nodes.items() if not status.ready}, now)
        return before != {node.name: node.states for node in self.nodes}


def _named(message: Message) -> tuple[EventId, ...]:
    """Return the faults that a message names, those of the culprit not told apart."""
    match message:
        case e.IncidentOpened():
            return (message.fault,)
        case e.FaultDiagnosed():
            return message.faults
        case _:
            return ()


def _keep(known: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    known[key] = value
    while len(known) > most:
        known.popitem(last=False)
