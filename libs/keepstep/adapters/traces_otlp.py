"""Spans over OTLP/HTTP, as every collector of OpenTelemetry takes them; imported only where traces are asked for.

The ids are ours, derived from what happened, so the SDK's tracer, which draws its own, is left out: spans are handed
to its batching exporter as they are.
"""

import threading
from datetime import datetime
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from keepstep.core.tracing import Span
from keepstep.ports.errors import Permanent

PATH = "/v1/traces"
EVERY_MS = 1000.0
"""Between two exports: an incident shows up while it is looked at."""
LIMIT_S = 2.0
"""For one export, and for all that waits at the end; a collector that is away holds nobody up longer."""
SCOPE = InstrumentationScope("keepstep")


class OtlpTracer:
    """Brings spans to a collector, in batches, from a thread of its own."""

    def __init__(self, url: str) -> None:
        """``url`` is the collector's address, with or without the path. Raises Permanent for one that is none."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Permanent("KEEPSTEP_TRACES_URL is no http(s) address; say http://HOST:4318")
        endpoint = url if parts.path.strip("/") else url.rstrip("/") + PATH
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=LIMIT_S)
        self._processor = BatchSpanProcessor(exporter, schedule_delay_millis=EVERY_MS)
        self._resources: dict[str, Resource] = {}

    def add(self, span: Span) -> None:
        """Take one span; beyond two thousand that wait the oldest make room."""
        self._processor.on_end(self._readable(span))

    def close(self) -> None:
        """Bring out what waits, within two seconds, and stop.

        The SDK heeds no limit here: it tries each batch that waits for as long as one export may take.
        """
        closing = threading.Thread(target=self._flush, name="traces-flush", daemon=True)
        closing.start()
        closing.join(LIMIT_S)

    def _flush(self) -> None:
        self._processor.force_flush()
        self._processor.shutdown()  # type: ignore[no-untyped-call]  # the SDK leaves this one untyped

    def _readable(self, span: Span) -> ReadableSpan:
        service = f"keepstep-{span.service}"
        resource = self._resources.setdefault(service, Resource({"service.name": service}))
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id),
            parent=None if span.parent is None else _context(span.trace, span.parent),
            resource=resource,
            attributes=dict(span.facts),
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=_nanoseconds(span.begin),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=SCOPE,
        )


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1000
