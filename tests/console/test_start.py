"""A console that cannot have its port says so in one sentence, and leaves nothing behind."""

import asyncio
import gc
import socket
import warnings

import pytest

from keepstep.console.api import application
from keepstep.console.app import running
from keepstep.console.context import Console
from keepstep.console.serve import served
from keepstep.console.settings import ConsoleSettings
from keepstep.ports.errors import Permanent
from keepstep.runtime.client import Client


async def test_an_address_takes_connections_as_soon_as_it_is_told(console: Console) -> None:
    """Who came before the server had begun was refused."""
    async with served(application(console), "127.0.0.1", 0) as address:
        port = int(address.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()


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
