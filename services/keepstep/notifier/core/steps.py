"""What a Kubernetes cluster is told of each step of an incident: a row per message, in the words of ``sentences``.

Not every fault: 512 ranks may die of one cause, which IncidentOpened and FaultDiagnosed tell once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from keepstep.contracts import events as e
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome, Service, Severity
from keepstep.core.sentences import counted, sentence
from keepstep.notifier.core.words import words
from keepstep.ports.sink import About

NORMAL, WARNING = Severity.INFO, Severity.WARNING
STEPS: Mapping[type[Message], tuple[Service, Severity]] = {
    e.JobCreated: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.JobFound: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.JobAccepted: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.JobWaiting: (Service.SCHEDULER_ADAPTER, WARNING),
    e.JobStarted: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.IncidentOpened: (Service.DIAGNOSER, WARNING),
    e.FaultDiagnosed: (Service.DIAGNOSER, WARNING),
    e.NodeIsolated: (Service.ISOLATOR, WARNING),
    e.DeviceIsolated: (Service.ISOLATOR, WARNING),
    e.IsolationDeclined: (Service.ISOLATOR, WARNING),
    e.NodeDrained: (Service.ISOLATOR, NORMAL),
    e.NodeReleased: (Service.ISOLATOR, NORMAL),
    e.DeviceReleased: (Service.ISOLATOR, NORMAL),
    e.ReleaseDeclined: (Service.ISOLATOR, WARNING),
    e.CheckpointChosen: (Service.CHECKPOINT_MANAGER, NORMAL),
    e.RecoveryPlanned: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.RecoveryStarted: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.RanksStarted: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.RecoveryFailed: (Service.SCHEDULER_ADAPTER, WARNING),
    e.JobResumed: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.IncidentClosed: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.IncidentOverdue: (Service.DIAGNOSER, WARNING),
    e.IncidentAcknowledged: (Service.DIAGNOSER, NORMAL),
    e.JobStopRequested: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.JobSucceeded: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.JobFailed: (Service.SCHEDULER_ADAPTER, WARNING),
    e.ActionsPaused: (Service.SCHEDULER_ADAPTER, NORMAL),
    e.ActionsResumed: (Service.SCHEDULER_ADAPTER, NORMAL),
}
"""Who says it, and whether a person should look at it."""
MOST_TASKS = 16
"""Pods told of one message: whoever replaces more of them looks at the job."""


@dataclass(frozen=True)
class Step:
    """One step as the cluster is told it."""

    severity: Severity
    text: str
    about: About
    facts: tuple[tuple[str, str], ...] = ()


def step(message: Message) -> Step | None:
    """Return what the cluster is told of this message; None for what is only for machines or concerns no object."""
    row = STEPS.get(type(message))
    if row is None or (message.job is None and message.node is None):
        return None
    service, severity = row
    if isinstance(message, e.IncidentClosed):
        return _closed(message)
    return Step(severity, sentence(message), _about(message, service))


def _closed(message: e.IncidentClosed) -> Step:
    """Return the end of an incident with the facts that are kept of it beside the Events, which live an hour."""
    service = Service.ISOLATOR if message.job is None else Service.SCHEDULER_ADAPTER
    severity = WARNING if message.outcome is Outcome.FAILED else NORMAL
    told = words(message)
    facts = told.facts if told is not None else ()
    if message.accounts is not None and message.accounts.lost_steps is not None:
        facts = (*facts, ("lost", counted(message.accounts.lost_steps, "step")))
    return Step(severity, sentence(message), _about(message, service), facts)


def _about(message: Message, service: Service) -> About:
    return About(
        reason=type(message).__name__,
        service=service,
        at=message.time,
        job=message.job,
        tasks=_tasks(message),
        node=_node(message),
        incident=message.incident,
    )


def _tasks(message: Message) -> tuple[TaskUid, ...]:
    """Return the tasks whose pods it concerns: the one to blame, those to be replaced."""
    match message:
        case e.FaultDiagnosed() if message.verdict.culprit is not None and message.verdict.culprit.task is not None:
            return (message.verdict.culprit.task,)
        case e.RecoveryPlanned():
            return message.replace[:MOST_TASKS]
        case _:
            return () if message.task is None else (message.task,)


def _node(message: Message) -> NodeName | None:
    """Return the node whose own story this is; that a rank ran there makes it not the node's."""
    isolator = STEPS[type(message)][0] is Service.ISOLATOR
    return message.node if isolator or message.job is None else None
