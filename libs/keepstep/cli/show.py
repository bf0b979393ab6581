"""Turns events, incidents and ratios into lines of text; no terminal is touched here."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from keepstep.cli.columns import hanging, shortened, table
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Language, Outcome
from keepstep.core.awaiting import Awaited
from keepstep.core.ettr import Ratio
from keepstep.core.history import History
from keepstep.core.sentences import NO_NAMES, counted, sentence
from keepstep.core.timeline import Timeline
from keepstep.core.words.labels import label

TOLD = (
    e.JobAccepted,
    e.JobWaiting,
    e.JobStarted,
    e.FaultDetected,
    e.FaultDiagnosed,
    e.FaultCleared,
    e.IncidentOverdue,
    e.NodeIsolated,
    e.DeviceIsolated,
    e.NodeReleased,
    e.DeviceReleased,
    e.RecoveryPlanned,
    e.RecoveryFailed,
    e.JobResumed,
    e.JobSucceeded,
    e.JobFailed,
    e.JobStopRequested,
    e.DetectorBlinded,
    e.ActionsPaused,
    e.ActionsResumed,
)
"""What a person at the terminal hears of a run while it goes; everything else is in ``keepstep events``."""


def short(identity: EventId | IncidentId | str) -> str:
    """Return as much of an id as people read out to each other."""
    return identity[:12]


def event_line(message: Message, tasks: Mapping[TaskUid, str] = NO_NAMES, width: int | None = None) -> str:
    """Return time, type, whom it concerns, and the sentence: in one line, or wrapped where ``width`` asks for it."""
    about = message.job.name if message.job is not None else message.node or message.pool
    head = f"{message.time:%H:%M:%S.%f}"[:12] + f"  {type(message).__name__:<21} {about:<12} "
    return hanging(head, shortened(sentence(message, tasks), LONGEST), width)


LONGEST = 600
"""Columns of a sentence, in which a rank's own words may stand: those of a verdict have 400, a long line has no bound.
``--json`` has all that was said, and ``keepstep job logs`` all that was printed."""
SAID_SHOWN = 10
"""Of the culprit's last lines; a traceback's end is what people look for, and ``--json`` has all that was kept."""
SAID_WIDTH = 160
"""Of each of them: warnings of a thousand characters push what matters off the screen."""
INCIDENT_HEAD = ("INCIDENT", "OPENED", "ABOUT", "END", "CATEGORY", "LEVELS", "WHO")


def incident_table(
    timelines: Sequence[Timeline], width: int | None = None, *, waits: Callable[[Timeline], Awaited | None]
) -> str:
    """Return a listing of incidents under their header, and below it what each open one waits for."""
    listed = table(INCIDENT_HEAD, [_incident_row(timeline) for timeline in timelines], width)
    now = [(timeline.incident, told.sentence) for timeline in timelines if (told := waits(timeline)) is not None]
    return "\n".join((listed, *(hanging(f"{short(incident)}  ", sentence, width) for incident, sentence in now)))


def _incident_row(timeline: Timeline) -> tuple[str, ...]:
    return (
        short(timeline.incident),
        f"{timeline.opened:%m-%d %H:%M:%S}",
        timeline.job.name if timeline.job is not None else timeline.node or "-",
        timeline.outcome or "open",
        timeline.category or "undiagnosed",
        " > ".join(timeline.levels) or "-",
        timeline.who,
    )


def timeline_lines(timeline: Timeline, width: int | None = None, *, waits: Awaited | None = None) -> tuple[str, ...]:
    """Return the incident as people read it: what, who, why, level, cost, last words, then every step's second.

    ``waits`` is what it waits for while it is open.
    """
    told = (
        *((("now", waits.sentence),) if waits is not None else ()),
        *((("care", f"looked after by {timeline.acknowledged}"),) if timeline.acknowledged is not None else ()),
        ("who", timeline.who),
        ("why", timeline.because or "not diagnosed yet"),
        ("level", _level(timeline)),
        ("lost", lost_words(timeline)),
        ("cost", _stages(timeline)),
        *(
            ("said" if number == 0 else "", shortened(line, SAID_WIDTH))
            for number, line in enumerate(timeline.last_lines[-SAID_SHOWN:])
        ),
    )
    return (
        f"incident {short(timeline.incident)}: {timeline.category or 'undiagnosed'}, {timeline.outcome or 'open'},"
        f" opened {timeline.opened:%m-%d %H:%M:%S}",
        *(hanging(f"  {name:<7} ", shortened(text, LONGEST), width) for name, text in told),
        *_entries(timeline, width),
    )


def _level(timeline: Timeline) -> str:
    if not timeline.levels:
        return "none, nothing was restarted"
    return f"{' > '.join(timeline.levels)}, {counted(timeline.attempts, 'attempt')}"


def lost_words(timeline: Timeline) -> str:
    """Return how many steps an incident cost, as far as that is known."""
    if timeline.lost_steps is not None:
        return counted(timeline.lost_steps, "step") + (" (estimated)" if timeline.estimated else "")
    match timeline.outcome:
        case None:
            return "not counted before the job resumes"
        case Outcome.FAILED | Outcome.JOB_GONE:
            return "not counted: the job did not resume"
        case _:
            return "unknown number of steps"


def _stages(timeline: Timeline) -> str:
    if not timeline.stages:
        return "still open"
    parts = " + ".join(f"{stage_name(stage.name)} {stage.seconds:.2f}" for stage in timeline.stages)
    return f"{parts} = {timeline.wall_s:.2f} s"


def stage_name(name: str) -> str:
    """Return what a stage is called wherever people read of it, as in the console."""
    return label("stage", name, Language.EN)


def _entries(timeline: Timeline, width: int | None) -> Iterable[str]:
    for entry in sorted(timeline.entries, key=lambda entry: entry.at):
        after = (entry.at - timeline.occurred).total_seconds()
        yield hanging(f"  {after:+8.3f} s  {entry.what:<18} ", shortened(entry.text, LONGEST), width)


def history_lines(history: History, width: int | None = None) -> Iterable[str]:
    """Yield how often the job was struck and when, then each incident kept: when, what, levels, end, and why."""
    if history.first is None or history.last is None:
        return
    kept = len(history.newest)
    newest = "" if kept == history.total else f", the newest {kept}"
    until = "" if history.total == 1 else f", last {history.last:%m-%d %H:%M:%S}"
    yield f"  {counted(history.total, 'incident')}, first {history.first:%m-%d %H:%M:%S}{until}{newest}:"
    for one in history.newest:
        done = " > ".join(one.levels) or "nothing restarted"
        head = f"    {one.at:%m-%d %H:%M:%S}  {one.category or 'undiagnosed'}, {done}, {one.outcome or 'open'}: "
        yield hanging(head, shortened(one.because, LONGEST), width)


def ratio_line(ratio: Ratio) -> str:
    """Return the effective-training-time ratio and its parts; nobody knows those of a script that marks no step."""
    if not ratio.known and ratio.wall_s:
        return (
            f"effective training time not known: no step was seen in {ratio.wall_s:.1f} s"
            " (keepstep.trainer.step marks one where torch does not)"
        )
    return (
        f"effective training time {ratio.ettr:.1%} of {ratio.wall_s:.1f} s"
        f" (start {ratio.startup_s:.1f} s, faults and recomputation {ratio.lost_s:.1f} s)"
    )
