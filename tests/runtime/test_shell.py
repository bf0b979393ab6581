"""Settings, health and what a process shows of itself."""

import asyncio
import errno
import io
import json
import logging
import socket
from pathlib import Path

import pytest
from pydantic import ValidationError

from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Permanent
from keepstep.runtime import log
from keepstep.runtime.http import Health, Stand, answer, serving
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.settings import Settings


async def get(port: int, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    text = (await asyncio.wait_for(reader.read(), 5)).decode()
    writer.close()
    return text


async def test_health_readiness_and_metrics_are_served() -> None:
    health, metrics = Health(), Metrics()
    health.set(Service.DETECTOR, Stand.STARTING)
    async with serving("127.0.0.1", 0, lambda path: answer(path, health, metrics)) as port:
        assert (await get(port, "GET /healthz HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 200")
        assert (await get(port, "GET /readyz HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 503")
        health.set(Service.DETECTOR, Stand.STANDBY)
        ready = await get(port, "GET /readyz?verbose HTTP/1.1\r\n\r\n")
        assert ready.startswith("HTTP/1.1 200")
        assert ready.endswith("detector standby\n")
        assert "keepstep_dead_letters_total" in await get(port, "GET /metrics HTTP/1.1\r\n\r\n")
        assert (await get(port, "GET /else HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 404")
        assert (await get(port, "POST /healthz HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 405")
        for garbage in ("\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01 \r\n\r\n"):
            assert (await get(port, garbage)).startswith("HTTP/1.1 40"), "answered, not stumbled over"
        assert await get(port, "x" * 20_000) == "", "an endless request is hung up on"


async def test_a_port_that_is_taken_is_refused_with_the_way_to_choose_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Permanent, match=f"port {port} .*--port"):
            async with serving("127.0.0.1", port, lambda path: answer(path, Health(), Metrics())):
                raise AssertionError("served on a port that another holds")


async def test_active_is_waited_for() -> None:
    health = Health()
    health.set(Service.DETECTOR, Stand.STANDBY)
    waiting = asyncio.create_task(health.wait_active())
    await asyncio.sleep(0)
    assert not waiting.done()
    health.set(Service.DETECTOR, Stand.ACTIVE)
    await asyncio.wait_for(waiting, 1)


def test_a_variable_is_named_like_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPSTEP_NATS_URL", "nats://secret@host:1")
    monkeypatch.setenv("KEEPSTEP_HTTP_PORT", "8701")
    settings = Settings()
    assert settings.nats_url.get_secret_value() == "nats://secret@host:1"
    assert settings.http_port == 8701
    assert "secret" not in f"{settings!r} {settings}"


def test_settings_do_not_change_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError):
        Settings().pool = "other"  # type: ignore[misc, assignment]
    monkeypatch.setenv("KEEPSTEP_HTTP_PORT", "70000")
    with pytest.raises(ValidationError, match="http_port"):
        Settings()


def test_a_log_on_a_full_disk_ends_nobody_and_tells_how_many_lines_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    full = True

    def write(text: str) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return io.StringIO.write(written, text)

    monkeypatch.setattr(written, "write", write)
    lines = log.Lines(written)
    lines.info("lost")
    lines().error("lost too")
    full = False
    lines.msg("here")
    lines.msg("again")
    assert written.getvalue().splitlines() == [
        '{"event": "lines lost", "level": "warning", "count": 2}',
        "here",
        "again",
    ]
    written.close()
    lines.msg("to nobody")


def test_a_log_on_a_full_disk_is_closed_without_a_word() -> None:
    """A run whose job had succeeded exited with 1 instead, and without its summary."""
    with log.appended(Path("/dev/full")) as file:
        log.Lines(file).info("lost")
    assert file.closed


def test_what_the_standard_library_logs_is_a_line_of_the_log_and_nothing_on_the_screen(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: log.configure(logging.CRITICAL))
    out = io.StringIO()
    log.configure(out=out)
    for name in ("nats.aio.client", "asyncio", "keepstep.runtime.plans"):
        logging.getLogger(name).error("a read of %s failed", name, exc_info=ValueError("invalid state"))
    logging.getLogger("nats").debug("of no interest")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["logger"], line["event"]) for line in lines] == [
        ("nats.aio.client", "a read of nats.aio.client failed"),
        ("asyncio", "a read of asyncio failed"),
        ("keepstep.runtime.plans", "a read of keepstep.runtime.plans failed"),
    ]
    assert all("ValueError: invalid state" in line["exception"] for line in lines)
    assert capsys.readouterr().err == ""
