"""Every metric of a process in one place; labels are services, message types and places in the code only.

Subjects, nodes, ranks and incidents are never labels, and of jobs a few: they have no bound. What a process counts
itself begins with 0 when it starts, as Prometheus expects; the figures of the pool (``exposition``) go on over
restarts, in whichever process keeps the ledger.
"""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from keepstep.contracts.taxonomy import Service
from keepstep.runtime.connection import Link
from keepstep.runtime.exposition import FiguresCollector
from keepstep.runtime.settings import MOST_JOBS

LET_IN, TURNED_AWAY = "let in", "turned away"


class Links(Collector):
    """The connections of a process to the bus."""

    def __init__(self) -> None:
        self.known: dict[Service, Link] = {}

    def describe(self) -> Iterable[Metric]:
        """Return the families without a value."""
        return self._families()

    def collect(self) -> Iterable[Metric]:
        """Return the families as they are now."""
        connected, outages = self._families()
        for service, link in self.known.items():
            connected.add_metric((service,), float(link.connected))
            outages.add_metric((service,), link.outages)
        return connected, outages

    def _families(self) -> tuple[GaugeMetricFamily, CounterMetricFamily]:
        return (
            GaugeMetricFamily("keepstep_bus_connected", "1 while the bus is reached.", labels=("service",)),
            CounterMetricFamily("keepstep_bus_outages", "Times that the bus was lost.", labels=("service",)),
        )


class Metrics:
    """The metrics of one process; ``most_jobs`` have a label of their own."""

    def __init__(self, *, most_jobs: int = MOST_JOBS) -> None:
        self.registry = CollectorRegistry()
        self.links = Links()
        self.registry.register(self.links)
        self.figures = FiguresCollector(most_jobs=most_jobs)
        self.registry.register(self.figures)
        self._deciding()
        self._standing()
        self.knocks = self._counter(
            "keepstep_knocks_total", "Agents that knocked at the bus, by whether they were let in.", "outcome"
        )
        self.guard_left = self._gauge(
            "keepstep_isolation_guard_left",
            "Nodes that the guard lets rules take out still, of the fleet and of its fullest group (rack or switch).",
            "room",
        )

    def _deciding(self) -> None:
        """Add what is counted of messages, decisions and effects."""
        self.events = self._counter("keepstep_events_total", "Messages taken from the stream.", "service", "event")
        self.ignored = self._counter(
            "keepstep_unknown_events_total", "Messages of a type this version does not know, acknowledged.", "service"
        )
        self.decided = Histogram(
            "keepstep_decision_seconds",
            "From a message's time in the stream to its acknowledgement.",
            ["service"],
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
            registry=self.registry,
        )
        self.failures = self._counter(
            "keepstep_failures_total", "Exceptions, by where they were caught; each was retried.", "service", "place"
        )
        self.dead_letters = self._counter(
            "keepstep_dead_letters_total", "Messages given up with their reason; alert on any.", "service"
        )
        self.effects = self._counter("keepstep_effects_total", "Effects completed.", "service")

    def _standing(self) -> None:
        """Add who is active, and how the stream stands."""
        self.active = self._gauge("keepstep_service_active", "1 while this instance is the active one.", "service")
        self.activations = self._counter("keepstep_activations_total", "Times this instance became active.", "service")
        self.stream_fill = self._gauge(
            "keepstep_stream_fill_ratio", "Bytes in the stream over its limit; alert at 0.8."
        )
        self.lag = self._gauge(
            "keepstep_queue_lag_messages",
            "Messages that wait in the stream for the active instance, or for its answer.",
            "service",
        )
        self.redeliveries = self._counter(
            "keepstep_redeliveries_total",
            "Messages that the bus delivered again, because they were refused or not answered in time.",
            "service",
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def begin(self, service: Service, link: Link) -> None:
        """Count for this service from 0 on: what begins with 1 has no increase that an alert could see."""
        self.links.known[service] = link
        for counter in (self.dead_letters, self.redeliveries, self.activations, self.effects):
            counter.labels(service)
        self.active.labels(service).set(0)

    def stand_by(self, service: Service) -> None:
        """Take back what only the active instance can tell."""
        self.active.labels(service).set(0)
        self.lag.remove(service)

    def text(self) -> bytes:
        """Return all of them in Prometheus's text format."""
        return generate_latest(self.registry)
