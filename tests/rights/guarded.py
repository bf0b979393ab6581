"""A real NATS server that holds every user to his rights, with the configuration that is shipped."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from keepstep.runtime.nats_server import announced_port, dying_with, find_binary
from keepstep.runtime.nats_users import users_text, variable
from keepstep.runtime.rights import Rights

PASSWORD = "secret-of-{user}"  # noqa: S105 - of a server that lives for one test
_CONFIG = """\
listen: "127.0.0.1:-1"
ports_file_dir: {folder}
max_payload: 8388608
jetstream {{ store_dir: {folder}/store, max_file_store: 1099511627776 }}
authorization {{
{users}
}}
"""


@dataclass(frozen=True)
class Guarded:
    """The running server."""

    port: int

    def url(self, user: str) -> SecretStr:
        """Return where a user connects."""
        return SecretStr(f"nats://{user}:{PASSWORD.format(user=user)}@127.0.0.1:{self.port}")


@asynccontextmanager
async def guarded(folder: Path, rights: Iterable[Rights]) -> AsyncIterator[Guarded]:
    """Run a server with these users until the block ends."""
    users = tuple(rights)
    config = _CONFIG.format(folder=folder, users=users_text(users))
    passwords = {variable(one.user): PASSWORD.format(user=one.user) for one in users}
    async with running(folder, config, passwords) as port:
        yield Guarded(port)


@asynccontextmanager
async def running(folder: Path, text: str, variables: dict[str, str]) -> AsyncIterator[int]:
    """Run a server with this configuration until the block ends; yields its port."""
    config, environment = folder / "nats.conf", os.environ | variables
    config.write_text(text, encoding="utf-8")
    with (folder / "nats.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            find_binary(), "-c", config, stdout=log, stderr=log, env=environment, preexec_fn=dying_with(os.getpid())
        )
    announced = folder / f"nats-server_{process.pid}.ports"
    try:
        async with asyncio.timeout(10):
            while not announced.exists() or not announced.read_text(encoding="utf-8"):
                assert process.returncode is None, (folder / "nats.log").read_text(encoding="utf-8")
                await asyncio.sleep(0.005)
        yield announced_port(announced)
    finally:
        process.kill()
        await process.wait()
