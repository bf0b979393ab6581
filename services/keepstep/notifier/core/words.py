"""What each message means to people: how urgent it is, a title and a sentence. What has no words is not told."""

from keepstep.contracts import events as e
from keepstep.contracts.topology import Culprit
from keepstep.core.sentences import counted
from keepstep.notifier.core import dead_letters, words_of_nodes
from keepstep.notifier.core.wording import OUTCOMES, SEVERITIES, Words, name_of, told, words

__all__ = ["OUTCOMES", "SEVERITIES", "Words", "words", "words_of_nodes"]


@words.register
def _opened(message: e.IncidentOpened) -> Words:
    return told(message, f"Fault in {name_of(message)}", message.because)


@words.register
def _diagnosed(message: e.FaultDiagnosed) -> Words:
    verdict = message.verdict
    revised = " (revised)" if message.revision else ""
    return told(
        message,
        f"Cause in {name_of(message)}: {verdict.category}{revised}",
        verdict.because,
        ("category", str(verdict.category)),
        *_blamed(verdict.culprit),
        ("attempt", str(message.attempt)),
        ("rule", verdict.rule),
    )


def _blamed(culprit: Culprit | None) -> tuple[tuple[str, str], ...]:
    if culprit is None:
        return (("culprit", "not known"),)
    named = {"node": culprit.node, "rank": culprit.rank, "device": culprit.device}
    return tuple((what, str(which)) for what, which in named.items() if which is not None)


@words.register
def _planned(message: e.RecoveryPlanned) -> Words:
    resume = "scratch" if message.resume_step is None else f"step {message.resume_step}"
    facts = (("level", str(message.level)), ("resume from", resume), ("attempt", str(message.attempt)))
    return told(message, f"Recovering {name_of(message)}: {message.level}", message.because, *facts)


@words.register
def _not_recovered(message: e.RecoveryFailed) -> Words:
    facts = (("level", str(message.level)), ("attempt", str(message.attempt)))
    return told(message, f"Recovery of {name_of(message)} failed: {message.level}", message.because, *facts)


@words.register
def _resumed(message: e.JobResumed) -> Words:
    title, lost = f"{name_of(message).capitalize()} steps again", _lost(message.lost_steps, estimated=message.estimated)
    return told(message, title, message.because, ("level", message.level), ("lost steps", lost))


def _lost(steps: int | None, *, estimated: bool) -> str:
    return "not known" if steps is None else f"{steps}{' (estimated)' * estimated}"


@words.register
def _closed(message: e.IncidentClosed) -> Words:
    title = f"Incident of {name_of(message)} closed: {message.outcome}"
    levels = " > ".join(message.levels) or "none"
    facts = [("outcome", str(message.outcome)), ("category", str(message.category))]
    facts += [("levels", levels), ("attempts", str(message.attempts))]
    if message.accounts is not None:
        facts.append(("seconds", f"{message.accounts.wall_s:.1f}"))
        facts.append(("lost steps", _lost(message.accounts.lost_steps, estimated=message.accounts.estimated)))
    if message.group is not None:
        facts.append(("group", message.group))
    return Words(OUTCOMES[message.outcome], title, message.because, tuple(facts))


@words.register
def _overdue(message: e.IncidentOverdue) -> Words:
    since = message.opened.isoformat(timespec="seconds")
    return told(message, f"Incident of {name_of(message)} is still open", message.because, ("open since", since))


@words.register
def _acknowledged(message: e.IncidentAcknowledged) -> Words:
    return told(message, f"Incident of {name_of(message)} acknowledged", f"{message.by} looks after it")


@words.register
def _started(message: e.JobStarted) -> Words:
    nodes = ", ".join(sorted({placed.node for placed in message.placement})[:16])
    tasks = counted(len(message.placement), "task")
    return told(message, f"{name_of(message).capitalize()} started", f"{tasks} on {nodes}")


@words.register
def _waiting(message: e.JobWaiting) -> Words:
    why = "is suspended" if message.suspended else "waits for a place"
    title = f"{name_of(message).capitalize()} {'runs on where it is' if message.runs else why}"
    return told(message, title, message.because)


@words.register
def _succeeded(message: e.JobSucceeded) -> Words:
    last = "" if message.step is None else f" at step {message.step}"
    return told(message, f"{name_of(message).capitalize()} succeeded", f"all ranks ended well{last}")


@words.register
def _failed(message: e.JobFailed) -> Words:
    line = (("last line", message.last_line),) if message.last_line else ()
    title = f"{name_of(message).capitalize()} failed: {message.category}"
    return told(message, title, message.because, ("category", str(message.category)), *line)


@words.register
def _stopped(message: e.JobStopRequested) -> Words:
    why = f": {message.reason}" if message.reason else ""
    return told(message, f"{name_of(message).capitalize()} is being stopped", f"asked for by {message.by}{why}")


@words.register
def _paused(message: e.ActionsPaused) -> Words:
    return told(message, f"Actions paused for {name_of(message)}", f"by {message.by}: observed, nothing acted on")


@words.register
def _unpaused(message: e.ActionsResumed) -> Words:
    return told(message, f"Actions resumed for {name_of(message)}", f"by {message.by}")


@words.register
def _blinded(message: e.DetectorBlinded) -> Words:
    return told(message, f"Detector of pool {message.pool} is blind", message.because)


@words.register
def _sighted(message: e.DetectorSighted) -> Words:
    return told(message, f"Detector of pool {message.pool} sees again", f"{counted(message.total, 'agent')} heard")


@words.register
def _dead_lettered(message: e.DeadLettered) -> Words:
    number = (("dead letter", str(message.number)),) if message.number else ()
    if message.about in e.DELIVERIES:
        return told(message, dead_letters.title(message), message.because, *dead_letters.facts(message), *number)
    title = f"{message.service} could not take a {message.about}"
    return told(message, title, message.because, ("service", message.service), ("message", message.about), *number)
