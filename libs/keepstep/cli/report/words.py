"""What a report says, as rows of text that HTML and Markdown both show."""

from collections.abc import Iterable
from statistics import mean

from keepstep.cli import show
from keepstep.cli.report.draw import duration
from keepstep.cli.report.gather import Run
from keepstep.contracts.taxonomy import Language, Level
from keepstep.core.ettr import Ratio
from keepstep.core.sentences import counted
from keepstep.core.timeline import Timeline
from keepstep.core.words.labels import message_label

MEANS = {
    "startup": "from the job's acceptance until all tasks step",
    "detect": "from the fault until it was called one",
    "decide": "until the cause was named, settling included",
    "isolate": "until isolation and checkpoint were answered",
    "people": "actions were paused: until a person resumed them",
    "reschedule": "T1: until all ranks were started again",
    "init": "T2: from the ranks' start, or T3, until the process group was there",
    "load": "T3: from the ranks' start, or T2, until the checkpoint was read; imports on the way count in",
    "first_step": "T4: from then to the first step, compilation included",
    "recompute": "T0: lost work, made again",
    "plan": "until a recovery was planned",
    "restart": "until ranks were started",
    "until_closed": "until the incident was closed without a resumption",
    "not_resumed": "an interruption that is not over",
    "productive": "training for good",
}
"""Stages as the report explains them; T0 to T4 are the parts of a restart as vendors number them."""


LEVELS = {
    Level.WAIT: "wait: for the fault to pass by itself",
    Level.IN_PLACE: "in-place: all ranks started again where they were",
    Level.POD: "pod: the task to blame replaced, all ranks started again",
    Level.JOB: "job: all tasks made anew",
    Level.FAIL: "fail: the job ended with the cause",
}
"""How far recoveries went."""


def summary(run: Run) -> list[tuple[str, str]]:
    """Return what the run was and how it went, one fact a row."""
    job, ratio = run.job, run.ratio
    spec = job.spec
    begun = job.run.accepted or job.born
    rows = [
        ("job", f"{job.ref.name} ({job.ref.uid})"),
        ("state", job.view.standing + (f": {job.view.because}" if job.view.because else "")),
        ("from", f"{begun:%Y-%m-%d %H:%M:%S %Z}"),
        ("until", f"{run.until:%Y-%m-%d %H:%M:%S %Z}" + ("" if job.ended else " (it still runs)")),
        ("wall time", duration(ratio.wall_s)),
        ("effective training time (ETTR)", _effective(ratio)),
        ("incidents", str(len(run.incidents))),
        ("generations", f"{job.view.generation}: so often were all ranks started"),
    ]
    if spec is not None:
        size = f"{counted(spec.nodes, 'task')} x {counted(spec.nproc, 'rank')}"
        rows.append(("size", f"{size}, {spec.framework}"))
    if (step := job.view.step) is not None:
        rows.append(("last step", str(step)))
    return [*rows, *_means(run), *_checkpoints(run)]


def _effective(ratio: Ratio) -> str:
    if not ratio.known:
        return "not known: no step was seen"
    return f"{ratio.ettr:.2%} of the wall time, {duration(ratio.productive_s)}"


def _means(run: Run) -> Iterable[tuple[str, str]]:
    resumed = [one for one in run.incidents if any(stage.name == "detect" for stage in one.stages)]
    if not resumed:
        return
    detect = sum(stage.seconds for one in resumed for stage in one.stages if stage.name == "detect")
    yield "mean time to detect (MTTD)", duration(detect / len(resumed))
    yield "mean time to recover (MTTR)", duration(sum(one.wall_s for one in resumed) / len(resumed))


def _checkpoints(run: Run) -> Iterable[tuple[str, str]]:
    told = run.checkpoints
    if not told:
        return
    apart = (told[-1].at - told[0].at).total_seconds() / max(1, len(told) - 1)
    yield "checkpoints", f"{len(told)}" + (f", one every {duration(apart)}" if len(told) > 1 else "")
    if saves := [one.save_s for one in told if one.save_s is not None]:
        yield "saving one", f"{duration(mean(saves))} on average, {duration(max(saves))} the longest"
    if commits := [one.commit_s for one in told if one.commit_s is not None]:
        yield "known as whole", f"{duration(mean(commits))} after the last write on average"


def lost(run: Run) -> list[tuple[str, str, str, str]]:
    """Return name, seconds, share and meaning of each part of the wall time, and their sum."""
    totals = run.totals
    wall = sum(totals.values())
    rows = [
        (show.stage_name(name), f"{seconds:.3f}", f"{seconds / wall:.2%}", MEANS.get(name, ""))
        for name, seconds in sorted(totals.items(), key=lambda item: -item[1])
    ]
    return [*rows, ("sum", f"{wall:.3f}", "100.00%", "the wall time")] if rows else []


def facts(incident: Timeline) -> list[tuple[str, str]]:
    """Return an incident's facts, one a row."""
    return [
        ("id", incident.incident),
        ("occurred", f"{incident.occurred:%Y-%m-%d %H:%M:%S.%f}"[:-3]),
        ("who", incident.who),
        ("why", incident.because or "not diagnosed yet"),
        ("level", "; then ".join(LEVELS[level] for level in incident.levels) or "none: nothing was restarted"),
        ("end", str(incident.outcome or "open")),
        *((("looked after by", incident.acknowledged),) if incident.acknowledged is not None else ()),
        ("lost", show.lost_words(incident)),
        ("wall time", duration(incident.wall_s) if incident.stages else "not over"),
    ]


def stage_rows(incident: Timeline) -> list[tuple[str, str, str]]:
    """Return name, seconds and meaning of an incident's stages, and their sum."""
    if not incident.stages:
        return []
    rows = [(show.stage_name(one.name), f"{one.seconds:.3f}", MEANS.get(one.name, "")) for one in incident.stages]
    return [*rows, ("sum", f"{incident.wall_s:.3f}", "fault until caught up" if incident.lost_steps else "")]


def entries(incident: Timeline) -> list[tuple[str, str, str]]:
    """Return what was said of an incident: seconds after the fault, which message, its sentence."""
    told = sorted(incident.entries, key=lambda entry: entry.at)
    return [
        (f"{(one.at - incident.occurred).total_seconds():+.3f} s", message_label(one.what, Language.EN), one.text)
        for one in told
    ]


def title(number: int, incident: Timeline) -> str:
    """Return an incident's heading."""
    return f"Incident {number}: {incident.category or 'undiagnosed'}, {incident.who}"
