"""Traces on a real stream and at a real receiver of OTLP/HTTP: one per incident, however often a service crashes."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from pydantic import SecretStr

from keepstep.adapters.traces_otlp import LIMIT_S, OtlpTracer
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.trace import HEADER, trace_headers
from keepstep.core.tracing import Span
from keepstep.ports.errors import Permanent
from keepstep.runtime import ledger as ledgers
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.service import open_tracer
from keepstep.runtime.settings import Settings
from keepstep.runtime.tail import Reading, read
from tests.active import active
from tests.core.telling import Job
from tests.runtime.conftest import BRISK
from tests.runtime.stages import Probe, until

Received = list[ExportTraceServiceRequest]


@pytest.fixture
def collector() -> Iterator[tuple[str, Received]]:
    """Yield the address of a receiver of OTLP/HTTP, and what it was sent."""
    received: Received = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf":
                received.append(ExportTraceServiceRequest.FromString(body))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name of the base
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    thread.join()
    server.server_close()


def spans(received: Received) -> list[tuple[str, str, str, str, str]]:
    """Return trace, span, parent, service and name of every span received."""
    return [
        (
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            next(one.value.string_value for one in told.resource.attributes if one.key == "service.name"),
            span.name,
        )
        for request in received
        for told in request.resource_spans
        for scope in told.scope_spans
        for span in scope.spans
    ]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow without patience, and take messages that a test dates to long ago for new ones."""
    monkeypatch.setattr(ledgers, "PATIENCE_S", 0.0)


async def say(client: Client, messages: list[Message]) -> None:
    for message in messages:
        await client.say(message)


async def test_an_incident_is_one_trace_however_often_the_service_starts_anew(
    client: Client, nats_url: str, pool: Pool, collector: tuple[str, Received]
) -> None:
    url, received = collector
    settings = Settings(nats_url=SecretStr(nats_url), pool=pool, traces_url=SecretStr(url))
    messages = Job(pool=pool).incident(100)
    cut = len(messages) // 2
    async with active([Probe().app(Service.NOTIFIER)], settings, pace=BRISK, within=60):
        await say(client, messages[:cut])
        await until(lambda: len(spans(received)) >= 2, within=60)
    await say(client, messages[cut:])
    for _ in range(2):
        async with active([Probe().app(Service.NOTIFIER)], settings, pace=BRISK, within=60):
            await until(lambda: any(name.startswith("incident ") for *_, name in spans(received)), within=60)
    found = spans(received)
    assert len({trace for trace, *_ in found}) == 1
    assert len({name for *_, name in found}) == len({span for _, span, *_ in found})
    known = {span for _, span, *_ in found}
    assert all(parent == "" or parent in known for _, _, parent, _, _ in found)
    services = {service for *_, service, _ in found}
    assert services == {"keepstep-diagnoser", "keepstep-scheduler-adapter"}
    assert {"detect", "decide", "load", "FaultDiagnosed", "RecoveryPlanned"} <= {name for *_, name in found}


async def test_the_trace_travels_in_the_headers_of_the_bus(client: Client, pool: Pool) -> None:
    messages = Job(pool=pool).incident(100)
    await say(client, messages)
    reading = Reading(names.stream_name(pool), names.stream_subjects(pool))
    told = [stored.headers.get(HEADER) async for stored in read(client.js, reading)]
    assert told == [trace_headers(message).get(HEADER) for message in messages]
    assert sum(one is not None for one in told) == len(messages) - 1


@pytest.fixture
def deaf() -> Iterator[str]:
    """Yield the address of a collector that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as there:
        yield f"http://127.0.0.1:{there.getsockname()[1]}"


NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize("there", [True, False])
async def test_a_collector_that_does_not_take_spans_costs_no_event_and_no_time(
    client: Client, nats_url: str, pool: Pool, deaf: str, *, there: bool
) -> None:
    settings = Settings(nats_url=SecretStr(nats_url), pool=pool, traces_url=SecretStr(deaf if there else NOBODY))
    job, metrics = Job(pool=pool), Metrics()
    async with active([Probe().app(Service.NOTIFIER)], settings, pace=BRISK, within=60, metrics=metrics):
        for number in range(1, 6):
            await say(client, job.incident(100 * number, f"i{number}"))
        await until(lambda: metrics.registry.get_sample_value("keepstep_incidents_opened_total") == 5, within=30)
        ending = time.monotonic()
    assert time.monotonic() - ending < 4 * LIMIT_S


def test_a_deaf_collector_delays_neither_a_span_nor_the_end(deaf: str) -> None:
    """The SDK's own flush tried batch after batch, for twelve seconds and more."""
    tracer, at = OtlpTracer(deaf), datetime(2026, 1, 1, tzinfo=UTC)
    began = time.monotonic()
    for number in range(1, 3001):
        tracer.add(Span(f"{number:032x}", f"{number:016x}", None, "detector", "name", at, at))
    added = time.monotonic()
    tracer.close()
    assert added - began < 4 * LIMIT_S, "it would be six exports if one waited for another"
    assert time.monotonic() - added < 2 * LIMIT_S


def test_without_an_address_nothing_of_the_exporter_is_imported() -> None:
    """FastStream imports ``opentelemetry.semconv`` where it is there; what takes time is the SDK and the exporter."""
    program = (
        "import sys, keepstep.runtime.service as s; s.open_tracer(s.Settings());"
        "heavy = ('opentelemetry.sdk', 'opentelemetry.exporter', 'opentelemetry.proto', 'google.protobuf', 'requests');"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("url", ["collector:4318", "ftp://collector", "http://"])
def test_an_address_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(Permanent, match="KEEPSTEP_TRACES_URL") as refused:
        open_tracer(Settings(traces_url=SecretStr(url)))
    assert str(refused.value) == "KEEPSTEP_TRACES_URL is no http(s) address; say http://HOST:4318"
