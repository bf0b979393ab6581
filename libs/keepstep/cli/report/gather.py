"""What a report tells of: one job's run, gathered from a living stack, from what one left, or from a cluster's bus."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from keepstep.cli import history
from keepstep.cli.errors import Failed
from keepstep.cli.jobs import hear, left_behind, newest
from keepstep.contracts import events as e
from keepstep.contracts.ids import IncidentId, JobUid
from keepstep.contracts.message import Message
from keepstep.core import spent, timeline
from keepstep.core.ettr import Ratio, ratio
from keepstep.core.job_now import JobState
from keepstep.core.json_text import parsed
from keepstep.core.known_job import KnownJob
from keepstep.core.naming import means
from keepstep.core.saving import Saved, Saving
from keepstep.core.timeline import Timeline


@dataclass(frozen=True)
class Exhibit:
    """A piece of evidence: what it is, and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Mark:
    """A step that was told of, and when."""

    at: datetime
    step: int


@dataclass(frozen=True)
class Run:
    """All that a report tells."""

    job: KnownJob
    until: datetime
    """Its end, or the moment of the report."""
    made: datetime
    incidents: tuple[Timeline, ...]
    pieces: tuple[spent.Piece, ...]
    marks: tuple[Mark, ...]
    exhibits: dict[IncidentId, tuple[Exhibit, ...]]
    losses: tuple[tuple[int, float], ...] = ()
    """Step and loss as the script wrote them, recomputed ones again."""
    checkpoints: tuple[Saved, ...] = ()
    """Those that were whole, in their order."""

    @property
    def ratio(self) -> Ratio:
        """The effective-training-time ratio up to its end, or to now."""
        return ratio(self.job.run, now=self.until)

    @property
    def totals(self) -> dict[str, float]:
        """Seconds by what they were spent on; they add up to the wall time."""
        return spent.totals(self.pieces)


@dataclass
class _Heard:
    """The messages of one source, as far as they may concern the job."""

    messages: list[Message] = field(default_factory=list)
    jobs: dict[JobUid, KnownJob] = field(default_factory=dict)

    def hear(self, message: Message) -> None:
        self.messages.append(message)
        hear(self.jobs, message)


async def gather(data: Path, name: str | None, *, losses: Path | None = None) -> Run:
    """Return the run of the job of this name or uid, by default the newest. Raises Failed if none is known."""
    for source in history.sources(_stack_of(data), name):
        heard = _Heard()
        async for message in history.said(source):
            heard.hear(message)
        known = tuple(heard.jobs.values())
        if not isinstance(source, history.Running):
            known = left_behind(known)
        meant = [job for job in known if name is None or means(name, job.ref)]
        if meant:
            job = newest(meant, name) if name is not None else max(meant, key=lambda one: one.born)
            return told(job, heard.messages, made=datetime.now(UTC), losses=read_losses(losses))
    raise Failed(f"there is no job {name or ''} in {data}; keepstep job list shows which there are".replace("  ", " "))


def _stack_of(data: Path) -> Path:
    """Return the data folder: people also name the folder of one run, which is what ``keepstep run`` tells them."""
    is_run = (data / "events.jsonl").exists() and data.parent.name == "runs"
    return data.parent.parent if is_run else data


def told(
    job: KnownJob, messages: Iterable[Message], *, made: datetime, losses: tuple[tuple[int, float], ...] = ()
) -> Run:
    """Return what the messages tell of the job, at the moment ``made``."""
    own = [message for message in messages if message.job is None or message.job.uid == job.ref.uid]
    record = timeline.Record()
    for message in own:
        record = timeline.tell(record, message)
    until = job.run.ended or (made if job.view.state is not JobState.ABANDONED else job.heard or made)
    incidents = tuple(one for one in record.incidents if one.job is not None and one.job.uid == job.ref.uid)
    return Run(
        job=job,
        until=until,
        made=made,
        incidents=incidents,
        pieces=spent.pieces(job.run, {one.incident: one for one in incidents}, now=until),
        marks=tuple(_marks(own)),
        exhibits={one.incident: tuple(_exhibits(one, own)) for one in incidents},
        losses=losses,
        checkpoints=tuple(_checkpoints(own)),
    )


def _marks(messages: Iterable[Message]) -> Iterable[Mark]:
    for message in messages:
        match message:
            case e.CheckpointCommitted():
                yield Mark(message.time, message.step)
            case e.RankExited(step=int(step)):
                yield Mark(message.at, step)
            case e.FirstStepDone(step=int(step)) | e.JobResumed(step=int(step)) | e.JobSucceeded(step=int(step)):
                yield Mark(message.time, step)
            case _:
                continue


def _checkpoints(messages: Iterable[Message]) -> Iterable[Saved]:
    saving = Saving()
    for message in messages:
        match message:
            case e.CheckpointSaved():
                saving = saving.found(message)
            case e.CheckpointCommitted():
                yield saving.whole(message)
                saving = saving.without(message.step)
            case _:
                continue


def _exhibits(incident: Timeline, messages: Iterable[Message]) -> Iterable[Exhibit]:
    """Yield what proves the incident's faults: last words, stacks, lines and codes."""
    claimed = {entry.id for entry in incident.entries}
    for message in messages:
        match message:
            case e.FaultDetected() if message.id in claimed:
                yield Exhibit(f"fault of {message.subject_name}: {message.because}", _lines(message.evidence))
            case e.EvidenceCaptured() if message.incident == incident.incident:
                yield Exhibit(f"{message.what} of rank {message.rank}", message.lines)
            case e.FaultDiagnosed() if message.incident == incident.incident:
                said = f"rule {message.verdict.rule}, confidence {message.verdict.confidence:.0%}"
                yield Exhibit(f"verdict {message.verdict.category} by {said}", (message.verdict.because,))
            case _:
                continue


def _lines(evidence: e.Evidence) -> tuple[str, ...]:
    match evidence:
        case e.ExitEvidence(last_lines=lines) | e.StallEvidence(stack=lines):
            return lines
        case e.LogEvidence(line=text) | e.LossEvidence(text=text):
            return (text,) if text else ()
        case e.DeviceEvidence(device=device, code=code, text=text):
            return (f"{device}: {code} {text}".rstrip(),)
        case e.NodeEvidence(condition=condition, text=text):
            return (f"{condition} {text}".rstrip(),)
        case _:
            return ()


def read_losses(path: Path | None) -> tuple[tuple[int, float], ...]:
    """Return step and loss of a file with one JSON object a line; a line that has none of both is left out.

    Raises Failed for a file that cannot be read.
    """
    if path is None:
        return ()
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise Failed(f"--losses {path}: {error.strerror or error}") from error
    return tuple(found for line in lines if (found := _loss(line)) is not None)


def _loss(line: str) -> tuple[int, float] | None:
    try:
        value = parsed(line)
        step, loss = int(value["step"]), float(value["loss"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return (step, loss) if abs(loss) < float("inf") else None
