"""A pool's figures in Prometheus's words: names, units, labels, and how many jobs are told apart.

Labels are closed sets, except the job's name, of which there are never more than was asked for: the rest is told
together as ``other``. A name that is no plain one shows as a digest, so that nothing else gets into a label by it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import reduce

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from keepstep.contracts.ids import derive
from keepstep.core.channels_told import CHANNELS, OUTCOMES
from keepstep.core.figures import Figures, Labels
from keepstep.core.job_figures import JobFigures, Share, share
from keepstep.core.spread import BUCKETS, Spread

OTHER = "other"
_PLAIN = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,62}[A-Za-z0-9])?", re.ASCII)

COUNTERS: Mapping[str, tuple[str, str, Labels, tuple[Labels, ...]]] = {
    "faults": (
        "keepstep_faults",
        "Faults that the detector called, by their evidence.",
        ("kind",),
        tuple((kind,) for kind in ("exit", "stall", "silence", "log", "loss", "unkillable", "device", "node")),
    ),
    "opened": ("keepstep_incidents_opened", "Incidents opened.", (), ((),)),
    "closed": (
        "keepstep_incidents_closed",
        "Incidents closed, by the verdict's category, the last level of recovery and how they ended.",
        ("category", "level", "outcome"),
        (),
    ),
    "levels_failed": (
        "keepstep_recovery_levels_failed",
        "Levels of recovery that did not help, so that the next one followed.",
        ("level",),
        tuple((level,) for level in ("wait", "in-place", "pod", "job")),
    ),
    "lost_steps": ("keepstep_lost_steps", "Steps that no checkpoint held and that were made again.", (), ((),)),
    "accepted": ("keepstep_jobs_accepted", "Jobs accepted.", (), ((),)),
    "ended": (
        "keepstep_jobs_ended",
        "Jobs that ended, by how.",
        ("outcome",),
        (("succeeded",), ("failed",), ("stopped",)),
    ),
    "isolations": (
        "keepstep_isolations",
        "Nodes and devices that were kept from jobs.",
        ("target",),
        (("node",), ("device",)),
    ),
    "declined": (
        "keepstep_isolations_declined",
        "Verdicts that isolated nothing: held for a person, in a dry run, or for another reason.",
        ("reason",),
        (("held",), ("dry_run",), ("other",)),
    ),
    "checkpoints": ("keepstep_checkpoints_committed", "Checkpoints that were whole.", (), ((),)),
    "buried": (
        "keepstep_messages_buried",
        "Messages that went to the dead letters; unlike keepstep_dead_letters_total it survives restarts.",
        ("service",),
        (),
    ),
    "notifications": (
        "keepstep_notifications",
        "Messages to people, by the channel's name or kind and what became of a try.",
        ("channel", "outcome"),
        tuple((channel, outcome) for channel in CHANNELS for outcome in OUTCOMES),
    ),
}
"""By the fold's name: the metric's, what it counts, its labels, and the values that are there from the beginning.

A series whose first value is 1 has no increase, so what an alert looks at begins with 0.
"""
SPREADS: Mapping[str, tuple[str, str, Labels]] = {
    "stage": (
        "keepstep_incident_stage_seconds",
        "Seconds that each stage of a resumed incident took; stage detect is the time to detect.",
        ("stage",),
    ),
    "recovery": (
        "keepstep_incident_recovery_seconds",
        "Seconds from the fault until its lost work was caught up with, by the last level.",
        ("level",),
    ),
    "commit": (
        "keepstep_checkpoint_commit_seconds",
        "Seconds from the last write to a checkpoint's files until it counts as whole.",
        (),
    ),
}
HELD_NOW: Mapping[str, tuple[str, Callable[[Figures, datetime], float]]] = {
    "keepstep_incidents_open": ("Incidents that nobody has closed yet.", lambda known, _: len(known.open)),
    "keepstep_incidents_overdue": (
        "Open incidents past the sum of their recovery's deadlines: a person must look.",
        lambda known, _: sum(one.overdue for one in known.open.values()),
    ),
    "keepstep_jobs_running": (
        "Jobs that were accepted and have not ended.",
        lambda known, _: sum(job.run.ended is None for job in known.jobs.values()),
    ),
    "keepstep_isolated_nodes": ("Nodes kept from jobs.", lambda known, _: sum(known.isolated.values())),
    "keepstep_isolated_devices": (
        "Devices kept from jobs while their node is not.",
        lambda known, _: len(known.isolated) - sum(known.isolated.values()),
    ),
    "keepstep_isolation_budget_left": (
        "Isolations that rules may still do before a person is asked.",
        lambda known, now: known.budget_left(now),
    ),
    "keepstep_isolation_held": (
        "1 while isolations are held for a person: there were too many lately.",
        lambda known, now: known.held(now),
    ),
    "keepstep_detector_blind": (
        "1 while the detector doubts itself and calls no fault.",
        lambda known, _: known.blind,
    ),
    "keepstep_actions_paused": ("1 while a person has paused all actions of the pool.", lambda known, _: known.paused),
    "keepstep_jobs_folded": ("Jobs told together as other.", lambda _known, _now: 0.0),
}
"""Gauges without labels; ``keepstep_jobs_folded`` gets its value where the jobs are told apart."""
JOB_GAUGES: Mapping[str, str] = {
    "keepstep_job_ettr_ratio": "Effective training time over wall time, of a job so far.",
    "keepstep_job_goodput_steps_per_second": "Steps made for good over wall time, of a job so far.",
    "keepstep_job_wall_seconds": "Seconds since the job was accepted, until its end.",
    "keepstep_job_productive_seconds": "Seconds of them in which it trained for good.",
    "keepstep_job_incidents": "Incidents of a job so far.",
    "keepstep_job_unsaved_timestamp_seconds": "Since when a job's work is on no checkpoint; of several the oldest.",
}
Job = tuple[str, Share, int, float | None]
"""Label, share, incidents, and since when nothing was saved."""


class FiguresCollector(Collector):
    """The figures as a part of a registry; shows nothing until there are some to show."""

    def __init__(self, *, most_jobs: int) -> None:
        """``most_jobs`` jobs are told apart by name at most."""
        self._most_jobs = most_jobs
        self._source: Callable[[], tuple[Figures, datetime]] | None = None

    def show(self, source: Callable[[], tuple[Figures, datetime]] | None) -> None:
        """Take the figures and the time from here at every scrape; None shows nothing any more."""
        self._source = source

    def describe(self) -> Iterable[Metric]:
        """Return all families without a value, by which names and labels are known."""
        gauges = [GaugeMetricFamily(name, text) for name, (text, _) in HELD_NOW.items()]
        return [*_counters(Figures(), begun=False), *_spreads(Figures()), *gauges, *_job_gauges(())]

    def collect(self) -> Iterable[Metric]:
        """Return all families as they are now."""
        if self._source is None:
            return ()
        figures, now = self._source()
        return families(figures, now, most_jobs=self._most_jobs)


def families(figures: Figures, now: datetime, *, most_jobs: int) -> list[Metric]:
    """Return every family of the figures at a moment."""
    jobs, folded = told_apart(list(figures.shown(now).values()), now, most=most_jobs)
    return [*_counters(figures), *_spreads(figures), *_held_now(figures, now, folded), *_job_gauges(jobs)]


def _counters(figures: Figures, *, begun: bool = True) -> Iterable[Metric]:
    for key, (name, text, labels, values_begun) in COUNTERS.items():
        family = CounterMetricFamily(name, text, labels=labels)
        known = {labels_of(joined): count for joined, count in figures.counters.get(key, {}).items()}
        for values, count in (dict.fromkeys(values_begun if begun else (), 0) | known).items():
            family.add_metric(values, count)
        yield family


def labels_of(joined: str) -> Labels:
    """Return label values as the fold joined them."""
    return tuple(joined.split("|")) if joined else ()


def _spreads(figures: Figures) -> Iterable[Metric]:
    for key, (name, text, labels) in SPREADS.items():
        family = HistogramMetricFamily(name, text, labels=labels)
        for joined, spread in figures.spreads.get(key, {}).items():
            family.add_metric(labels_of(joined), _buckets(spread), spread.total)
        yield family


def _buckets(spread: Spread) -> list[tuple[str, float]]:
    bounds = [*(f"{bound:g}" if bound % 1 else f"{bound:.1f}" for bound in BUCKETS), "+Inf"]
    return [(bound, float(count)) for bound, count in zip(bounds, spread.cumulative, strict=True)]


def _held_now(figures: Figures, now: datetime, folded: int) -> Iterable[Metric]:
    for name, (text, value) in HELD_NOW.items():
        family = GaugeMetricFamily(name, text)
        family.add_metric((), folded if name == "keepstep_jobs_folded" else float(value(figures, now)))
        yield family


def _job_gauges(jobs: Iterable[Job]) -> Iterable[Metric]:
    told = [GaugeMetricFamily(name, text, labels=("job_name",)) for name, text in JOB_GAUGES.items()]
    for label, found, incidents, unsaved in jobs:
        values = (found.ettr, found.goodput, found.wall_s, found.productive_s, float(incidents), unsaved)
        for family, value in zip(told, values, strict=True):
            if value is not None:
                family.add_metric((label,), value)
    return told


def told_apart(jobs: list[JobFigures], now: datetime, *, most: int) -> tuple[list[Job], int]:
    """Return what is told of jobs, and how many of them are told together.

    The newest have a label of their own, ``most`` at most; of two that would have the same one, the newer.
    """
    by_label: dict[str, list[JobFigures]] = {}
    taken: set[str] = set()
    for job in sorted(jobs, key=lambda job: (job.run.ended is None, job.accepted), reverse=True):
        label = job_label(job.name)
        own = label not in taken and len(taken) < most
        taken |= {label} if own else set()
        by_label.setdefault(label if own else OTHER, []).append(job)
    return [_together(label, found, now) for label, found in by_label.items()], len(by_label.get(OTHER, ()))


def job_label(name: str) -> str:
    """Return the job's name if it is a plain one, else a digest of it; never ``other``, which is nobody's."""
    return name if _PLAIN.fullmatch(name) and name != OTHER else f"job-{derive('job-label', name)[:12]}"


def _together(label: str, jobs: list[JobFigures], now: datetime) -> Job:
    shares = reduce(Share.__add__, (share(job, now=now) for job in jobs), Share())
    unsaved = [one.timestamp() for job in jobs if (one := job.unsaved_since) is not None and job.run.ended is None]
    return label, shares, sum(job.incidents for job in jobs), min(unsaved, default=None)
