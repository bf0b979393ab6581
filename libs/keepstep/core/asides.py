"""One plain sentence per message that is said beside the course of an incident: suspicions, orders, what is outside."""

# ruff: noqa: PLR0911 - a table of message and sentence, in the form of match

from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message
from keepstep.core.wording import counted, exit_words


def aside(message: Message) -> str | None:
    """Return the sentence; None for a message that has none here."""
    for tell in (_of_suspicions, _of_reports, _of_jobs, _of_orders, _of_delivery):
        if (said := tell(message)) is not None:
            return said
    return None


def _of_suspicions(message: Message) -> str | None:
    match message:
        case e.SilenceSuspected():
            return f"an agent was not heard for {message.silent_s:g} s"
        case e.AgentHeard():
            return "the agent is heard again"
        case e.StallSuspected():
            return f"the job seems to hang: {message.because}"
        case e.StallPassed():
            return f"rank {', '.join(map(str, message.ranks))} steps again"
        case e.ExitSuspected():
            return f"heartbeats show that rank {message.rank} exited {exit_words(message.exit)}"
        case e.DetectorSighted():
            return f"the detector sees again, {counted(message.total, 'agent')} heard"
        case _:
            return None


def _of_reports(message: Message) -> str | None:
    match message:
        case e.PublicFaultReported():
            over = " is over" if message.recovered or not message.active else ""
            harmless = "" if message.hurts or over else ", no fault"
            text = f": {message.text}" if message.text else ""
            place = _place(message.node, message.device)
            return f"{message.source} reports {message.code} of {place}{over}{harmless}{text}"
        case e.ReportRead():
            over = "" if message.active else " is over"
            text = f": {message.evidence.text}" if message.evidence.text else ""
            code, place = _of_evidence(message.evidence, message.node)
            return f"{message.source} reports {code} of {place}{over}{text}"
        case e.ReportPlaced():
            over = "" if message.active else " is over"
            whom = "all jobs" if message.job is None else f"job {message.job.name}"
            code, place = _of_evidence(message.evidence, message.node)
            return f"{code} of {place}{over}, brought to {whom}"
        case e.LinkReported():
            return f"port {message.port} of {message.node} is {'up' if message.up else 'down'}"
        case _:
            return None


def _place(node: NodeName | None, device: str | None) -> str:
    return f"node {node}" if device is None else f"device {device} of node {node}"


def _of_evidence(evidence: e.DeviceEvidence | e.NodeEvidence, node: NodeName | None) -> tuple[str, str]:
    """Return what was reported, and of what."""
    match evidence:
        case e.DeviceEvidence():
            return evidence.code, _place(node, evidence.device)
        case e.NodeEvidence():
            return evidence.condition, _place(node, None)


def _of_jobs(message: Message) -> str | None:
    match message:
        case e.JobFinished():
            return f"the job's object {message.how}: {message.because}"
        case e.JobHeld():
            return "held by the pool's pause"
        case e.JobFreed():
            return "the pool's pause is over for this job"
        case e.RestartFailed():
            return f"restart at level {message.level} could not be carried out: {message.because}"
        case e.ReleaseDeclined():
            return f"not released: {message.because}"
        case _:
            return None


def _of_orders(message: Message) -> str | None:
    match message:
        case o.StopJob():
            why = f": {message.reason}" if message.reason else ""
            return f"{message.by} ordered the job to stop{why}"
        case o.DeleteJob():
            return f"{message.by} ordered the job to be deleted"
        case o.PauseActions():
            return f"{message.by} ordered that nothing is acted on"
        case o.ResumeActions():
            return f"{message.by} ordered to act again"
        case o.AckIncident():
            return f"{message.by} acknowledges the incident"
        case _:
            return None


def _of_delivery(message: Message) -> str | None:
    match message:
        case e.NotificationQueued():
            return f"notification for {message.channel}: {message.title}"
        case e.NotificationDelayed():
            return f"notification to {message.sink} did not get through, try {message.tries}: {message.because}"
        case e.DeadLettered():
            return f"{message.service} could not take a {message.about}: {message.because}"
        case _:
            return None
