"""What a message reports of a fault: on what, which, and by what it is known again."""

import re
from dataclasses import dataclass, replace

from keepstep.console.model.places import Places
from keepstep.console.views import FaultSource, HurtJob
from keepstep.contracts import events as e
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, LossCause
from keepstep.core.node_standing import UNREADY

Key = tuple[str, ...]
"""What tells one fault from all others that are active."""
LONGEST = 500
"""Characters of a text."""
NODES_OWN = frozenset({FaultSource.DEVICE, FaultSource.NODE})
_NETWORK = re.compile(
    r"(?i)(?:^|[^a-z])(?:link|port|nic|net|network\w*|rdma|roce|ib|hca|infiniband|switch|optical|uboe)(?:[^a-z]|$)"
    r"|networkunavailable"
)
"""Conditions and codes that are of the network although a node reports them."""


@dataclass(frozen=True)
class Report:
    """What was found; ``over`` tells its end."""

    source: FaultSource
    key: Key
    subject: str
    code: str
    text: str
    node: NodeName | None = None
    device: str | None = None
    reporter: str = ""
    reporting: bool = True
    """Somebody's own word, and not what the detector made of one."""
    lasting: bool = True
    """It is of hardware, and ends by a report of its end."""
    over: bool = False
    once: bool = False
    looked: bool = False
    """The cluster shows it, and its end."""
    hurt: tuple[HurtJob, ...] = ()
    """Where that is known from the message itself."""

    def of(self, source: FaultSource) -> "Report":
        """Return it as one of another source."""
        return replace(self, source=source)


def report_of(message: Message) -> Report | None:
    """Return what a message reports of hardware; None for every other message, and for what hurts no training."""
    match message:
        case e.DeviceReported():
            found = _on_device(message.node, message.device, message.code, message.text)
            return replace(found, over=not message.active, once=message.once) if message.hurts else None
        case e.NodeReported():
            found = _on_node(message.node, message.condition, message.text)
            return replace(found, over=not message.active, once=message.once) if message.hurts else None
        case e.LinkReported():
            found = _on_node(message.node, f"link {message.port}", "down")
            return replace(found, source=FaultSource.NETWORK, over=message.up)
        case e.ReportRead():
            found = _of_evidence(message.node, message.evidence)
            return replace(found, reporter=message.source, over=not message.active)
        case e.PublicFaultReported():
            found = _public(message)
            over = not message.active or message.recovered
            return replace(found, source=FaultSource.PUBLIC, reporter=message.source, over=over, once=message.once)
        case _:
            return None


def _public(message: e.PublicFaultReported) -> Report:
    if message.device is not None:
        return _on_device(message.node, message.device, message.code, message.text)
    return _on_node(message.node, message.code, message.text)


def of_fault(message: e.FaultDetected, places: Places) -> Report:
    """Return what the detector found; of hardware it is the same fault as the report that it came from."""
    evidence = message.evidence
    match evidence:
        case e.DeviceEvidence() | e.NodeEvidence():
            found = replace(_of_evidence(message.node, evidence), reporting=False)
            if message.job is None:
                return found
            return replace(found, hurt=(places.hurt_of(message.job, message.node, found.device),))
        case _:
            return _of_process(message, places)


def lost_node(node: NodeName) -> Report:
    """Return that the cluster does not have a node ready: nobody says so of one on which no task runs."""
    key = ("looked", node)
    return Report(FaultSource.NODE, key, f"node {node}", LossCause.NODE_LOST, UNREADY, node=node, looked=True)


def _of_evidence(node: NodeName | None, evidence: e.DeviceEvidence | e.NodeEvidence) -> Report:
    match evidence:
        case e.DeviceEvidence():
            return _on_device(node, evidence.device, evidence.code, evidence.text)
        case e.NodeEvidence():
            return _on_node(node, evidence.condition, evidence.text)


def _on_device(node: NodeName | None, device: str, code: str, text: str) -> Report:
    source = FaultSource.NETWORK if _NETWORK.search(code) else FaultSource.DEVICE
    key = ("hardware", node or "", device, code)
    return Report(source, key, f"device {device}", code, text[:LONGEST], node=node, device=device)


def _on_node(node: NodeName | None, condition: str, text: str) -> Report:
    source = FaultSource.NETWORK if _NETWORK.search(condition) else FaultSource.NODE
    return Report(source, ("hardware", node or "", "", condition), f"node {node}", condition, text[:LONGEST], node=node)


def _of_process(message: e.FaultDetected, places: Places) -> Report:
    """Return a fault of ranks or of a task: a node that is lost takes its task with it, and is the node's own."""
    source, code = FaultSource.PROCESS, str(message.evidence.kind)
    match message.evidence:
        case e.ExitEvidence() | e.StallEvidence() as one:
            ranks: tuple[int, ...] = (one.rank,)
        case e.LogEvidence() as one:
            ranks, code = (one.rank,), one.rule
            source = FaultSource.NETWORK if one.category is Category.NETWORK else source
        case e.UnkillableEvidence() as one:
            ranks = one.ranks
        case e.SilenceEvidence():
            ranks, source = (), FaultSource.NODE
        case e.LossEvidence() as one:
            ranks, code = (), f"loss {one.by}"
            source = FaultSource.NODE if one.by is LossCause.NODE_LOST else source
        case _:
            ranks = ()
    job = "" if message.job is None else message.job.uid
    if message.job is not None:
        ranks = ranks or places.task_ranks(message.job.uid, message.task)
    hurt = () if message.job is None else (HurtJob(job=message.job, ranks=ranks),)
    key = ("process", job, message.subject_name, code, str(message.generation))
    return Report(
        source, key, message.subject_name, code, message.because[:LONGEST], node=message.node,
        lasting=False, hurt=hurt,
    )  # fmt: skip
