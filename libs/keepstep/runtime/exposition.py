"""A pool's figures in Prometheus's format, and how many jobs are told apart.

Labels are closed sets, except the job's name, of which there are never more than was asked for: the rest is told
together as ``other``. A name that is no plain one shows as a digest, so that nothing else gets into a label by it.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import reduce

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from keepstep.contracts.ids import derive
from keepstep.core.figures import Figures, Labels
from keepstep.core.job_figures import JobFigures, Share, share
from keepstep.core.spread import BUCKETS, Spread
from keepstep.runtime.figure_names import COUNTERS, HELD_NOW, JOB_GAUGES, SPREADS

OTHER = "other"
_PLAIN = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,62}[A-Za-z0-9])?", re.ASCII)

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
        return [*_counters(Figures(), begun=False), *_spreads(Figures(), begun=False), *gauges, *_job_gauges(())]

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


def _spreads(figures: Figures, *, begun: bool = True) -> Iterable[Metric]:
    for key, (name, text, labels, values_begun) in SPREADS.items():
        family = HistogramMetricFamily(name, text, labels=labels)
        known = {labels_of(joined): spread for joined, spread in figures.spreads.get(key, {}).items()}
        for values, spread in (dict.fromkeys(values_begun if begun else (), Spread()) | known).items():
            family.add_metric(values, _buckets(spread), spread.total)
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
