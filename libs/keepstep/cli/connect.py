"""Connections of commands to a stack: to one that runs, or to what one that ended has left on disk.

The bus's client is imported here and nowhere else in what a listing needs, so that a listing of files starts at once.
"""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from keepstep.cli import places
from keepstep.cli.errors import Failed
from keepstep.contracts.ids import Pool
from keepstep.ports.errors import KeepstepError
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer

CONNECT_S = 10.0
"""The server answers within 20 ms of its start; a bus that is named by hand may be far away."""
NOT_READ = ("KV_*",)
"""Plans, leases and folds: what the services need to go on, and nobody else to know what happened."""


@asynccontextmanager
async def connected(address: places.StackAddress) -> AsyncIterator[Client]:
    """Connect to a running stack for the block; raises Failed if its bus does not answer."""
    async with _open(address.url.get_secret_value(), address.pool) as client:
        yield client


@asynccontextmanager
async def joined(data: Path, job: str | None = None) -> AsyncIterator[tuple[Client, places.StackAddress]]:
    """Connect to the running stack that may know the job, for the block; raises Failed if there is none."""
    where = places.address(data, job)
    async with connected(where) as client:
        yield client, where


@asynccontextmanager
async def archived(address: places.StackAddress) -> AsyncIterator[Client]:
    """Serve the stream of a stack that ended for the block, from a copy: what it left stays as it is.

    Raises Failed if it cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="keepstep-") as room:
        copy = Path(room)
        try:
            shutil.copytree(
                places.stream_folder(address.folder),
                places.stream_folder(copy),
                ignore=shutil.ignore_patterns(*NOT_READ),
            )
        except OSError as error:
            raise Failed(f"what keepstep up left in {address.folder} cannot be read: {error}") from error
        server = NatsServer(copy / "nats")
        try:
            url = await server.start()
            async with _open(url.get_secret_value(), address.pool) as client:
                yield client
        finally:
            await server.stop()


@asynccontextmanager
async def _open(url: str, pool: Pool) -> AsyncIterator[Client]:
    try:
        client = await Client.open(url, pool, name="keepstep", within=timedelta(seconds=CONNECT_S))
    except KeepstepError as error:
        raise Failed(str(error)) from error
    try:
        yield client
    finally:
        await client.close()
