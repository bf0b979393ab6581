"""One suite for every sink, then what is each one's own."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from keepstep.adapters.sink_log import FileSink, LogSink
from keepstep.adapters.sink_webhook import WebhookSink, webhook_client
from keepstep.contracts.taxonomy import Severity
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Notice, Sink

HIDDEN = "t0ken"
LIMIT = timedelta(seconds=5)


def notice(number: int = 1, severity: Severity = Severity.WARNING) -> Notice:
    facts = (("node", "节点-1"), ("lost steps", "3"))
    return Notice(f"id-{number}", "incident-1", number, severity, "Fault in job j", "rank 3\nwas killed", facts)


class Receiver:
    """A real HTTP server that answers as it is told, 200 otherwise, and keeps what it got."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.got: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.silent = threading.Event()
        self.silent.set()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/robot/{HIDDEN}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), json.loads(body)))
                receiver.silent.wait(5)
                code, headers = receiver.answers.pop(0) if receiver.answers else (200, {})
                self.send_response(code)
                for name, value in (headers | {"Content-Length": "0"}).items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
                """Keep quiet."""

        return Answering

    def stop(self) -> None:
        self.silent.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


@pytest.fixture(params=["log", "file", "webhook"])
def sink(request: pytest.FixtureRequest, receiver: Receiver, tmp_path: Path) -> Sink:
    sinks: dict[str, Sink] = {
        "log": LogSink(),
        "file": FileSink(tmp_path / "deep" / "notices.jsonl"),
        "webhook": WebhookSink(receiver.address, webhook_client(limit=LIMIT)),
    }
    return sinks[request.param]


@pytest.mark.parametrize("severity", Severity)
async def test_a_sink_takes_any_severity_and_the_same_notice_again(sink: Sink, severity: Severity) -> None:
    await sink.deliver(notice(severity=severity))
    await sink.deliver(notice(severity=severity))


async def test_a_sink_shows_id_thread_number_title_text_and_facts(
    sink: Sink, receiver: Receiver, tmp_path: Path
) -> None:
    with capture_logs() as logs:
        await sink.deliver(notice())
    file = tmp_path / "deep" / "notices.jsonl"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    shown = json.dumps([logs, lines, [body for _, body in receiver.got]], ensure_ascii=False)
    for part in ("id-1", "incident-1", "Fault in job j", "was killed", "节点-1"):
        assert part in shown


async def test_a_critical_notice_is_logged_as_critical() -> None:
    with capture_logs() as logs:
        await LogSink().deliver(notice(severity=Severity.CRITICAL))
    assert [(one["log_level"], one["event"], one["facts"]["lost steps"]) for one in logs] == [
        ("critical", "Fault in job j", "3")
    ]


async def test_a_file_holds_one_object_a_line(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "n.jsonl")
    for number in (1, 2):
        await sink.deliver(notice(number))
    lines = [json.loads(line) for line in (tmp_path / "n.jsonl").read_text("utf-8").splitlines()]
    assert [(one["sequence"], one["facts"]["lost steps"]) for one in lines] == [(1, "3"), (2, "3")]


async def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Transient, match="cannot be written"):
        await FileSink(tmp_path / "file" / "n.jsonl").deliver(notice())


async def test_every_try_shows_the_id_of_its_notice_in_the_log_and_in_the_file(tmp_path: Path) -> None:
    with capture_logs() as logged:
        for _ in range(2):
            await LogSink().deliver(notice())
    file = FileSink(tmp_path / "n.jsonl")
    for _ in range(2):
        await file.deliver(notice())
    written = [json.loads(line)["id"] for line in (tmp_path / "n.jsonl").read_text("utf-8").splitlines()]
    assert [line["notice"] for line in logged] == written == ["id-1", "id-1"]


async def test_a_webhook_gets_json_and_the_id_to_deduplicate_by(receiver: Receiver) -> None:
    await WebhookSink(receiver.address, webhook_client(limit=LIMIT)).deliver(notice())
    ((headers, body),) = receiver.got
    assert headers["Idempotency-Key"] == "id-1"
    assert body == {
        "id": "id-1",
        "thread": "incident-1",
        "sequence": 1,
        "severity": "warning",
        "kind": "stack",
        "stage": "note",
        "event": "",
        "incident": None,
        "job": "",
        "subject": "",
        "at": None,
        "title": "Fault in job j",
        "text": "rank 3\nwas killed",
        "facts": {"node": "节点-1", "lost steps": "3"},
        "links": [],
        "members": [],
    }


SOON = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize(
    ("code", "headers", "least", "most"),
    [
        (429, {"Retry-After": "7"}, 7, 7),
        (503, {"Retry-After": SOON}, 3000, 3600),
        (500, {}, 0, 0),
        (408, {"Retry-After": "soon"}, 0, 0),
    ],
)
async def test_a_passing_refusal_is_tried_again_when_the_server_says(
    receiver: Receiver, code: int, headers: dict[str, str], least: float, most: float
) -> None:
    receiver.answers = [(code, headers)]
    with pytest.raises(Transient, match=f"answered {code}") as raised:
        await WebhookSink(receiver.address, webhook_client(limit=LIMIT)).deliver(notice())
    assert least <= raised.value.retry_after.total_seconds() <= most


@pytest.mark.parametrize("code", [302, 400, 401, 404, 410])
async def test_a_lasting_refusal_is_not_tried_again(receiver: Receiver, code: int) -> None:
    receiver.answers = [(code, {"Location": "/elsewhere"})]
    with pytest.raises(Permanent, match=f"answered {code}"):
        await WebhookSink(receiver.address, webhook_client(limit=LIMIT)).deliver(notice())
    assert len(receiver.got) == 1


async def test_a_server_that_is_silent_or_absent_is_tried_again(receiver: Receiver) -> None:
    receiver.silent.clear()
    client = webhook_client(limit=timedelta(seconds=0.05))
    with pytest.raises(Transient, match="no answer in time"):
        await WebhookSink(receiver.address, client).deliver(notice())
    receiver.stop()
    with pytest.raises(Transient, match="cannot be reached"):
        await WebhookSink(receiver.address, webhook_client(limit=LIMIT)).deliver(notice())


async def test_a_server_that_sends_a_byte_now_and_then_is_not_read_for_ever() -> None:
    """Its channel was silent for as long as it pleased the server: each byte began the limit anew."""
    open_ones: list[asyncio.StreamWriter] = []

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)  # well within the limit of a stage

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = webhook_client(limit=timedelta(seconds=0.3))
    with pytest.raises(Transient, match="no answer in time"):
        await asyncio.wait_for(WebhookSink(f"http://127.0.0.1:{port}/", client).deliver(notice()), 10)
    server.close()
    for writer in open_ones:
        writer.close()


async def test_no_route_leads_to_the_credentials_of_a_cloud() -> None:
    sink = WebhookSink("http://169.254.169.254/latest/meta-data/", webhook_client(limit=LIMIT))
    with pytest.raises(Permanent, match="metadata service"):
        await sink.deliver(notice())


@pytest.mark.parametrize("address", ["ftp://h/t0ken", "http://h:99999999/t0ken", "http://[/t0ken", "https:///t0ken"])
def test_an_address_that_is_none_is_not_tried_again(address: str) -> None:
    with pytest.raises(Permanent, match="correct the route") as raised:
        WebhookSink(address, webhook_client(limit=LIMIT))
    assert HIDDEN not in str(raised.value)


async def test_the_secret_shows_in_no_log_and_no_error(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    receiver.answers = [(200, {}), (500, {}), (404, {})]
    sink = WebhookSink(receiver.address, webhook_client(limit=LIMIT))
    shown = []
    with caplog.at_level(logging.INFO):
        await sink.deliver(notice())
        for _ in range(2):
            with pytest.raises((Transient, Permanent)) as raised:
                await sink.deliver(notice())
            shown.append(str(raised.value))
    assert len(receiver.got) == 3
    assert not [text for text in [*shown, caplog.text] if HIDDEN in text]


@pytest.mark.parametrize("name", ["level", "text", "event", "thread", "time", "severity"])
async def test_no_fact_takes_the_place_of_what_a_log_line_has_anyway(name: str) -> None:
    with capture_logs() as logs:
        await LogSink().deliver(replace(notice(), facts=((name, "pod"), ("lost steps", "3"))))
    (line,) = logs
    assert line["facts"] == {name: "pod", "lost steps": "3"}
    assert (line["event"], line["log_level"], line["text"]) == ("Fault in job j", "warning", "rank 3\nwas killed")
