"""Every metric of the services in one place; labels are services, message types and places in the code only.

Subjects, jobs, nodes, ranks and incidents are never labels: they have no bound.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

UNKNOWN = "unknown"


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.events = Counter(
            "keepstep_events_total", "Messages taken from the stream.", ["service", "event"], registry=self.registry
        )
        self.ignored = Counter(
            "keepstep_unknown_events_total",
            "Messages of a type this version does not know, acknowledged.",
            ["service"],
            registry=self.registry,
        )
        self.decided = Histogram(
            "keepstep_decision_seconds",
            "From a message's time in the stream to its acknowledgement.",
            ["service"],
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
            registry=self.registry,
        )
        self.failures = Counter(
            "keepstep_failures_total",
            "Exceptions, by where they were caught; each was retried.",
            ["service", "place"],
            registry=self.registry,
        )
        self.dead_letters = Counter(
            "keepstep_dead_letters_total",
            "Messages given up with their reason; alert on any.",
            ["service"],
            registry=self.registry,
        )
        self.effects = Counter("keepstep_effects_total", "Effects completed.", ["service"], registry=self.registry)
        self.active = Gauge(
            "keepstep_active_count", "1 while this instance is the active one.", ["service"], registry=self.registry
        )
        self.activations = Counter(
            "keepstep_activations_total", "Times this instance became active.", ["service"], registry=self.registry
        )
        self.stream_fill = Gauge(
            "keepstep_stream_fill_ratio",
            "Bytes in the stream over its limit; alert at 0.8.",
            registry=self.registry,
        )

        self.knocks = Counter(
            "keepstep_knocks_total",
            "Agents that knocked at the bus, by whether they were let in.",
            ["outcome"],
            registry=self.registry,
        )

    def text(self) -> bytes:
        """Return all of them in Prometheus's text format."""
        return generate_latest(self.registry)
