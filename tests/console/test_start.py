"""A console goes by the bus's time; one that cannot have its port says so in one sentence and leaves nothing behind."""

import asyncio
import gc
import socket
import warnings
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI

from keepstep.console.api import application
from keepstep.console.app import running
from keepstep.console.context import Console
from keepstep.console.login.opening import Login
from keepstep.console.serve import served
from keepstep.console.settings import ConsoleSettings
from keepstep.ports.errors import Permanent
from keepstep.runtime.client import Client
from tests.console.waiting import until


async def test_an_address_takes_connections_as_soon_as_it_is_told(console: Console) -> None:
    """Who came before the server had begun was refused."""
    async with served(application(console), "127.0.0.1", 0) as address:
        port = int(address.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()


async def test_a_console_goes_by_the_bus_s_time_whatever_its_own_machine_says(
    settings: ConsoleSettings, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine an hour behind, an incident of this minute was open since minus 3,600 s."""
    ahead = datetime.now(UTC) + timedelta(hours=1)

    async def told(_self: Client) -> datetime:
        return ahead

    made: list[Console] = []

    def noted(console: Console, *, login: Login | None = None) -> FastAPI:
        made.append(console)
        return application(console, login=login)

    monkeypatch.setattr(Client, "time", told)
    monkeypatch.setattr("keepstep.console.app.application", noted)
    async with running(settings):
        (console,) = made
        await until(lambda: console.now() >= ahead)
        assert console.desk.now() >= ahead


async def test_a_port_that_is_taken_is_told_with_the_remedy_and_nothing_else(
    settings: ConsoleSettings, client: Client
) -> None:
    """Its work, which had not begun, was warned of on the screen of whoever chose the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        port = taken.getsockname()[1]
        with pytest.raises(Permanent, match=rf"port {port} of 127\.0\.0\.1 .* choose another with --port"):
            async with running(settings.model_copy(update={"console_port": port})):
                pass
        gc.collect()
    assert [str(one.message) for one in told if issubclass(one.category, RuntimeWarning)] == []
