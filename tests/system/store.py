"""A server and a store of a deployed stack, each of which can be struck."""

import asyncio
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from keepstep.runtime.nats_server import NatsServer, dying_with


class Served(NatsServer):
    """A server that stays down when it is killed, until it is started again on its old port and data."""

    async def _keep(self) -> None:
        await asyncio.Event().wait()


@dataclass
class Store:
    """A Redis that keeps nothing: killed, it comes back empty."""

    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Where services find it."""
        return f"unix://{self.folder / 'redis.sock'}"

    def start(self) -> None:
        """Start it; services wait for it by themselves."""
        options = ["--port", "0", "--unixsocket", str(self.folder / "redis.sock"), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            ["redis-server", *options],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - nothing but exec follows
        )

    def flush(self) -> None:
        """Lose everything while running."""
        subprocess.run(
            ["redis-cli", "-s", str(self.folder / "redis.sock"), "FLUSHALL"], check=True, capture_output=True
        )
