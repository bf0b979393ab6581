"""One plain sentence per message of an incident: what people read in timelines and event lists."""

# ruff: noqa: C901, PLR0911, PLR0912 - a table of message and sentence, in the form of match

from collections.abc import Mapping

from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Entrance, LossCause
from keepstep.core.asides import aside
from keepstep.core.wording import NO_NAMES, counted, culprit_words, exit_words

__all__ = ["NO_NAMES", "counted", "culprit_words", "exit_words", "sentence"]


def sentence(message: Message, tasks: Mapping[TaskUid, str] = NO_NAMES) -> str:
    """Return what the message says in one line; a message of tomorrow says its type's name."""
    if isinstance(message, e.FaultDiagnosed):
        verdict = message.verdict
        return f"{verdict.category}, blamed on {culprit_words(verdict.culprit, tasks)}: {verdict.because}"
    for tell in (_of_agent, _of_nodes, _of_deciders, _of_recovery, _of_people, aside):
        if (said := tell(message)) is not None:
            return said
    return type(message).__name__


def _of_agent(message: Message) -> str | None:
    match message:
        case e.TaskJoined():
            running = f", its ranks of generation {message.applied} run" if message.applied else ""
            return f"{message.ref.name} joined with {counted(message.warm_ready, 'warm rank')}{running}"
        case e.PlanApplied():
            ranks = f", unkillable ranks {list(message.unkillable)}" if message.unkillable else ""
            warm = f" with {counted(message.warm_used, 'warm rank')}" if message.warm_used else ""
            why = f": {message.because}" if message.because else ""
            where = f" on {message.node}" if message.node is not None else ""
            return f"plan of generation {message.generation} {message.applied}{where}{warm}{ranks}{why}"
        case e.FirstStepDone():
            return f"first step of generation {message.generation} done{_at(message.step)}"
        case e.RankExited():
            ordered = ", as ordered" if message.ordered else ""
            return f"rank {message.rank} exited {exit_words(message.exit)}{_at(message.step)}{ordered}"
        case e.RankStalled():
            return f"rank {message.rank} is {message.sign} (state {message.state}){_at(message.step)}"
        case e.RankRecovered():
            return f"rank {message.rank} goes on"
        case e.LogMatched():
            return f"rank {message.rank} printed what rule {message.rule} looks for: {message.line}"
        case e.CheckpointSaved():
            took = "" if message.save_s is None else f", saved in {message.save_s:.2f} s"
            return f"checkpoint of step {message.step} found at {message.path}{took}"
        case e.EvidenceCaptured():
            return f"{message.what} of rank {message.rank} taken"
        case _:
            return None


NO_FAULT = {True: "", False: ", no fault"}


def _of_nodes(message: Message) -> str | None:
    match message:
        case e.NodeReported(active=False):
            return f"{message.condition} of {message.node} is over: {message.text}"
        case e.NodeReported():
            return f"{message.condition} of {message.node}{NO_FAULT[message.hurts]}: {message.text}"
        case e.DeviceReported(active=False):
            return f"{message.code} of device {message.device} of {message.node} is over: {message.text}"
        case e.DeviceReported():
            return (
                f"{message.code} of device {message.device} of {message.node}{NO_FAULT[message.hurts]}: {message.text}"
            )
        case _:
            return None


def _of_deciders(message: Message) -> str | None:
    match message:
        case e.FaultDetected(evidence=e.LossEvidence(by=LossCause.DRAINED)):
            return f"planned: {message.because}"
        case e.FaultDetected():
            return f"fault of {message.subject_name}: {message.because}"
        case e.NodeIsolated():
            return f"node {message.node} isolated: {message.because}"
        case e.DeviceIsolated():
            return f"device {message.device} isolated: {message.because}"
        case e.NodeRecovered():
            return f"{message.node} is ready again"
        case e.NodeRelapsed():
            return f"{message.node} is not ready any more"
        case e.NodeReleased():
            return f"node {message.node} released: {message.because}"
        case e.DeviceReleased():
            return f"device {message.device} of node {message.node} released: {message.because}"
        case e.NodeDrained():
            return f"node {message.node} drained: {message.because}"
        case e.CheckpointCommitted():
            return f"checkpoint of step {message.step} is whole"
        case e.CheckpointChosen():
            step = "" if message.step is None else f"from step {message.step}: "
            return f"resume {step}{message.because}"
        case e.FaultCleared() | e.IncidentOpened() | e.IsolationDeclined() | e.DetectorBlinded() | e.IncidentOverdue():
            return f"{_words(message)}: {message.because}"
        case _:
            return None


def _of_recovery(message: Message) -> str | None:
    match message:
        case e.JobAccepted():
            size = f"{counted(message.spec.nodes, 'task')} x {counted(message.spec.nproc, 'rank')}"
            return "; ".join((f"job accepted: {size}", *message.warnings))
        case e.JobCreated():
            return f"{message.kind} made as {message.by} ordered"
        case e.JobFound():
            again = " again after its end" if message.resumed else ""
            refused = "".join(f"; not {one.level}: {one.because} ({one.remedy})" for one in message.refusals)
            levels = ", ".join(message.levels) or "no level"
            return f"{message.kind} found{again}, it can be recovered by {levels}{refused}"
        case e.JobStarted():
            return f"running on {_places(message.placement)}"
        case e.TaskLost(by=LossCause.DRAINED):
            return f"{message.ref.name} is to move: {message.text}"
        case e.TaskReleased():
            return f"{message.ref.name} is out{', its processes are known to be gone' if message.proven else ''}"
        case e.JobDeleted():
            return "the job's tasks are gone"
        case e.TaskLost():
            return (
                f"{message.ref.name} lost, {message.by}{', proven' if message.proven else ''} {message.text}".rstrip()
            )
        case e.RecoveryPlanned():
            return f"level {message.level}, generation {message.to_generation}: {message.because}"
        case e.RecoveryStarted():
            return f"generation {message.from_generation} is stopped for generation {message.to_generation}"
        case e.RanksStarted():
            return f"ranks started on {_places(message.placement)}"
        case e.RecoveryFailed():
            return f"level {message.level} did not help: {message.because}"
        case e.JobResumed():
            return f"resumed{_at(message.step)}{_lost(message.lost_steps)}: {message.because}"
        case e.JobSucceeded():
            return f"all ranks finished{_at(message.step)}"
        case e.JobFailed():
            line = f" ({message.last_line})" if message.last_line not in message.because else ""
            return f"failed, {message.category}: {message.because}{line}"
        case e.JobWaiting():
            return f"runs on: {message.because}" if message.runs else f"waiting: {message.because}"
        case e.IncidentClosed():
            tried = f" after {counted(message.attempts, 'attempt')}" if message.levels else ""
            return f"{message.outcome}{tried}: {message.because}"
        case e.NotificationDelivered() | e.NotificationDropped():
            return f"{_words(message)} to {message.sink}: {message.title}"
        case _:
            return None


def _of_people(message: Message) -> str | None:
    match message:
        case e.JobStopRequested():
            return f"{message.by} asked to stop{f': {message.reason}' if message.reason else ''}"
        case e.ActionsPaused() | e.ActionsResumed() | e.IncidentAcknowledged():
            return f"{_words(message)} by {message.by}"
        case e.DeadlinePassed():
            return f"deadline {message.what} of {message.service} passed"
        case e.FoldRestated():
            return f"{message.service} wrote down what it knows of {message.scope}, up to message {message.through}"
        case e.LoggedIn():
            how = ENTRANCES[message.via]
            return f"{message.by} came into the console as {message.role}, by {how}{_of(message.client)}"
        case e.LoggedOut():
            return f"{message.by} left the console{_of(message.client)}"
        case e.AccessRefused():
            return _refused(message)
        case o.CreateJob():
            return f"{message.by} created job {message.spec.name}"
        case o.IsolateNode() | o.DrainNode() | o.ReleaseNode():
            return f"{message.by} ordered {_words(message)} {message.node}: {message.reason}"
        case _:
            return None


ENTRANCES = {
    Entrance.TOKEN: "token",
    Entrance.HEADER: "token in a header",
    Entrance.OIDC: "OpenID provider",
    Entrance.LOCAL: "this machine alone",
}


def _refused(message: e.AccessRefused) -> str:
    who = message.by or "somebody"
    asked = f" {message.asked}" if message.asked else ""
    more = f"; {counted(message.unsaid, 'refusal')} more before it" if message.unsaid else ""
    return f"the console refused {who}{_of(message.client)}{asked}: {message.because}{more}"


def _of(client: str) -> str:
    return f" from {client}" if client else ""


def _words(message: Message) -> str:
    name = type(message).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"


def _lost(steps: int | None) -> str:
    return "" if steps is None else f", {counted(steps, 'step')} lost"


def _places(placement: tuple[e.Placed, ...]) -> str:
    return ", ".join(f"{placed.node} ({placed.task.name})" for placed in placement) or "no node"
