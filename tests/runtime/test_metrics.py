"""What is scraped parses, is named by Prometheus's conventions, tells no secret, and has no label without a bound."""

import re
from collections.abc import Iterable
from datetime import datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service, Severity
from keepstep.core.channels_told import CHANNELS, NAMED
from keepstep.core.figures import Figures, tell
from keepstep.runtime.connection import Link
from keepstep.runtime.exposition import OTHER, job_label
from keepstep.runtime.metrics import Metrics
from tests.core.telling import OUTAGE_S, Job, at


def scraped(metrics: Metrics) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(metrics.text().decode())}


def shown(messages: Iterable[Message], *, now: datetime, most_jobs: int = 50) -> dict[str, Metric]:
    known = Figures()
    for message in messages:
        known = tell(known, message)
    metrics = Metrics(most_jobs=most_jobs)
    metrics.figures.show(lambda: (known, now))
    return scraped(metrics)


def values(family: Metric) -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def counted(family: Metric) -> dict[tuple[str, ...], float]:
    """Return the values that are not as they began."""
    return {labels: value for labels, value in values(family).items() if value}


def test_the_figures_of_an_incident_are_in_the_scrape() -> None:
    job = Job()
    found = shown([job.accepted(), job.stepping(10), *job.incident(100, lost=5)], now=at(200))
    assert counted(found["keepstep_incidents_closed"]) == {("unknown", "in-place", "resumed"): 1}
    assert values(found["keepstep_faults"])["exit",] == 1
    stages = [one for one in found["keepstep_incident_stage_seconds"].samples if one.name.endswith("_sum")]
    assert sum(one.value for one in stages) == OUTAGE_S
    assert values(found["keepstep_job_ettr_ratio"]) == {("train",): (200 - 10 - OUTAGE_S) / 200}


def test_nothing_of_the_pool_is_shown_by_a_process_that_keeps_no_ledger() -> None:
    assert not any(name.startswith("keepstep_incidents") for name in scraped(Metrics()))


def test_of_many_jobs_the_newest_are_told_apart_and_the_rest_together() -> None:
    jobs = [Job(f"t{number}", f"j{number}") for number in range(7)]
    begun = [job.accepted(number) for number, job in enumerate(jobs)] + [job.started(10) for job in jobs[:2]]
    found = shown(begun, now=at(100), most_jobs=3)
    wall = values(found["keepstep_job_wall_seconds"])
    assert set(wall) == {("t6",), ("t5",), ("t4",), (OTHER,)}
    assert wall[OTHER,] == 100 + 99 + 98 + 97
    assert values(found["keepstep_jobs_folded"]) == {(): 4}
    assert values(found["keepstep_job_unsaved_timestamp_seconds"]) == {(OTHER,): at(10).timestamp()}


def test_a_job_that_has_ended_is_gone_from_the_scrape_after_some_minutes() -> None:
    job = Job()
    messages = [job.accepted(), job.succeeded(50)]
    assert values(shown(messages, now=at(60))["keepstep_job_wall_seconds"]) == {("train",): 50}
    assert not values(shown(messages, now=at(400))["keepstep_job_wall_seconds"])


def test_two_jobs_of_one_name_make_no_two_series_of_one_label() -> None:
    found = shown([Job("same", "j1").accepted(), Job("same", "j2").accepted(5)], now=at(10))
    assert values(found["keepstep_job_wall_seconds"]) == {("same",): 5, (OTHER,): 10}


SECRET = "s3cr3tT0k3n"  # noqa: S105 - what must not be found
HOSTILE = st.one_of(st.text(max_size=300), st.sampled_from([f"https://h/x?token={SECRET}", f'a"}} {SECRET}', OTHER]))


@given(st.lists(HOSTILE, min_size=1, max_size=12), st.integers(0, 5))
@example([f"https://hook/?access_token={SECRET}", f"a\n{SECRET} 1", 'x"y', "other"], 2)
@settings(max_examples=30, deadline=None)
def test_no_name_breaks_the_scrape_gets_a_secret_into_it_or_grows_it(names: list[str], most: int) -> None:
    messages: list[Message] = []
    for number, name in enumerate(names):
        job = Job(name, f"j{number}")
        told = {"sink": name, "severity": Severity.INFO, "title": name}
        messages += [job.accepted(number), job.isolated(number, name, name), *job.incident(number, name)]
        messages += [
            job.say(e.NotificationDelivered, number, **told),
            job.say(e.NotificationDropped, number, because=name, **told),
            job.say(e.DeadLettered, number, service=Service.DETECTOR, about=name, because=name),
        ]
    found = shown(messages, now=at(100), most_jobs=most)
    assert len(values(found["keepstep_job_ettr_ratio"])) <= most + 1
    channels = {channel for channel, _ in values(found["keepstep_notifications"])}
    assert len(channels - set(CHANNELS)) <= NAMED
    told_labels = [value for family in found.values() for one in family.samples for value in one.labels.values()]
    assert not any(SECRET in value or len(value) > 64 for value in told_labels)


def test_of_many_channels_the_first_are_told_apart_and_the_rest_together() -> None:
    """Channels have names of their own, of which a file may have any number."""
    job = Job()
    sinks = ["log", "https://hook/x?token=1", "No Name", *(f"team-{number}" for number in range(NAMED + 5))]
    told = [
        job.say(e.NotificationDelivered, number, sink=sink, severity=Severity.INFO, title="t")
        for number, sink in enumerate(sinks)
    ]
    assert counted(shown(told, now=at(99))["keepstep_notifications"]) == {
        ("log", "delivered"): 1,
        ("webhook", "delivered"): 1,
        **{(f"team-{number}", "delivered"): 1 for number in range(NAMED)},
        (OTHER, "delivered"): 6,
    }


@pytest.mark.parametrize("name", ["train", "bert-7b.v2", "A_b"])
def test_a_plain_name_is_its_own_label(name: str) -> None:
    assert job_label(name) == name


def described() -> list[Metric]:
    metrics = Metrics()
    return [*metrics.registry.collect(), *metrics.figures.describe()]


@pytest.mark.parametrize("family", described(), ids=lambda family: family.name)
def test_a_metric_is_named_by_the_conventions(family: Metric) -> None:
    """https://prometheus.io/docs/practices/naming: a prefix, base units, a unit at the end; counters end in _total."""
    assert re.fullmatch(r"keepstep(_[a-z]+)+", family.name)
    assert family.documentation.endswith(".")
    if family.type == "histogram":
        assert family.name.endswith("_seconds")
    for wrong in ("_ms", "_milliseconds", "_minutes", "_percent", "_mb", "_kb"):
        assert not family.name.endswith(wrong)


def test_no_metric_is_there_twice() -> None:
    names = [family.name for family in described()]
    assert len(set(names)) == len(names)


def test_the_first_of_its_kind_is_a_rise_too() -> None:
    """A series that begins with 1 has no increase: the first incident of a pool would be on no chart and in no mean."""
    job = Job()
    before, after = (
        shown(said, now=at(200), most_jobs=0)
        for said in ((), [job.accepted(), *job.incident(100, lost=5), job.saved(150, 9, written=1, save_s=1)])
    )
    for name, family in after.items():
        if family.type in ("counter", "histogram"):
            assert values(family).keys() == values(before[name]).keys(), name


def test_what_an_alert_looks_at_begins_with_nought() -> None:
    metrics = Metrics()
    metrics.begin(Service.DETECTOR, Link())
    found = scraped(metrics)
    for name in ("keepstep_dead_letters", "keepstep_redeliveries", "keepstep_bus_outages", "keepstep_bus_connected"):
        assert values(found[name])["detector",] == 0


def test_what_only_the_active_instance_can_tell_is_gone_when_it_stands_by() -> None:
    metrics = Metrics()
    metrics.begin(Service.DETECTOR, Link())
    metrics.lag.labels(Service.DETECTOR).set(7)
    metrics.stand_by(Service.DETECTOR)
    assert not values(scraped(metrics)["keepstep_queue_lag_messages"])
    metrics.stand_by(Service.DETECTOR)
