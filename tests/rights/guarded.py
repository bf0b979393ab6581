"""A real NATS server that holds every user to his rights, with the configuration that is shipped."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from keepstep.contracts.ids import Pool
from keepstep.runtime.nats_server import announced_port, dying_with, find_binary
from keepstep.runtime.nats_users import ISSUER, cluster_text, users_text, variable
from keepstep.runtime.nkeys import KeyPair, Role
from keepstep.runtime.rights import DEFAULT, Rights
from keepstep.runtime.rights_of_pods import cluster_rights

PASSWORD = "secret-of-{user}"  # noqa: S105 - of a server that lives for one test
_CONFIG = """\
listen: "127.0.0.1:{port}"
ports_file_dir: {folder}
max_payload: 8388608
jetstream {{ store_dir: {folder}/store, max_file_store: 1099511627776 }}
{users}
"""
ANY_PORT = -1


@dataclass(frozen=True)
class Guarded:
    """The running server; ``key`` is the gate's, where it has one."""

    port: int
    key: KeyPair | None = None

    @property
    def address(self) -> str:
        """Return where somebody without a password knocks."""
        return f"nats://127.0.0.1:{self.port}"

    def url(self, user: str) -> SecretStr:
        """Return where a user connects."""
        return SecretStr(f"nats://{user}:{PASSWORD.format(user=user)}@127.0.0.1:{self.port}")


@asynccontextmanager
async def guarded(folder: Path, rights: Iterable[Rights]) -> AsyncIterator[Guarded]:
    """Run a server with these users until the block ends."""
    users = tuple(rights)
    listed = f"authorization {{\n{users_text(users)}}}"
    config = _CONFIG.format(folder=folder, users=listed, port=ANY_PORT)
    passwords = {variable(one.user): PASSWORD.format(user=one.user) for one in users}
    async with running(folder, config, passwords) as port:
        yield Guarded(port)


@asynccontextmanager
async def cluster_bus(
    folder: Path, *pools: Pool, key: KeyPair | None = None, port: int = ANY_PORT
) -> AsyncIterator[Guarded]:
    """Run a server as a cluster has it until the block ends: agents are let in by whoever has the gate's password."""
    key = key or KeyPair.new(Role.ACCOUNT)
    served = pools or (DEFAULT,)
    config = _CONFIG.format(folder=folder, users=cluster_text(served), port=port)
    passwords = {variable(one.user): PASSWORD.format(user=one.user) for one in cluster_rights(*served)}
    async with running(folder, config, passwords | {ISSUER: key.public}) as announced:
        yield Guarded(announced, key)


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
        async with asyncio.timeout(60):
            while not announced.exists() or not announced.read_text(encoding="utf-8"):
                assert process.returncode is None, (folder / "nats.log").read_text(encoding="utf-8")
                await asyncio.sleep(0.005)
        yield announced_port(announced)
    finally:
        process.kill()
        await process.wait()
