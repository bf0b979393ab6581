"""Five thousand incidents in the console: how long its answers take, how long a start, how much memory.

Run ``python -m benchmarks.console [--incidents 5000] [--runs 5]``. Two hundred jobs have 25 incidents each, each with
five faults, so that some sixty thousand messages are put into a real bus's stream; then the console starts as a process
of its own, reads all of it, and is asked over HTTP. Seconds are the server's own: from the request to the answer's last
byte on loopback, one request at a time, the slowest of the runs. Memory is the process's resident set after the start.
"""

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from tests.console.said import began, struck

from benchmarks import measuring
from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef
from keepstep.runtime import log
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer

JOBS = 200
POOL = Pool("p")
TOGETHER = 100
"""Messages that are on their way to the bus at once."""
START_LIMIT_S = 300.0
GOAL_S = 0.3
GOAL_MIB = 512
"""Half of what the console's pod may take."""
PATHS = (
    "/overview",
    "/jobs?limit=200",
    "/jobs/job-7",
    "/incidents?limit=200",
    "/incidents?text=killed&category=unknown&limit=50",
    "/incidents/{incident}",
    "/faults?limit=200",
    "/nodes",
    "/nodes/n1",
    "/events?limit=500",
    "/events?text=nothing+has+this",
    "/statistics",
)


@dataclass(frozen=True)
class Measured:
    """What one run of the console gave."""

    messages: int
    start_s: float
    memory_mib: float
    answers_s: dict[str, list[float]]


def said(incidents: int) -> Iterable[Message]:
    """Yield the messages of all jobs and their incidents, jobs side by side."""
    jobs = [JobRef(name=f"job-{number}", uid=JobUid(f"uid-of-job-{number}")) for number in range(JOBS)]
    for job in jobs:
        yield from began(job)
    for number in range(incidents):
        job = jobs[number % JOBS]
        yield from struck(f"{number:032x}", 10.0 + number, job=job, victims=(0, 1, 2))


async def fill(client: Client, messages: Iterable[Message]) -> int:
    """Put the messages into the stream and return how many they are."""
    count, waiting = 0, []
    for message in messages:
        waiting.append(client.say(message.model_copy(update={"pool": client.pool})))
        count += 1
        if len(waiting) == TOGETHER:
            await asyncio.gather(*waiting)
            waiting.clear()
    await asyncio.gather(*waiting)
    return count


@asynccontextmanager
async def console(url: str) -> AsyncIterator[tuple[httpx.AsyncClient, int, float]]:
    """Run a console on this bus; yields a client of it, its process and the seconds until it had read everything."""
    environment = os.environ | {
        "KEEPSTEP_NATS_URL": url, "KEEPSTEP_POOL": POOL, "KEEPSTEP_CONSOLE_PORT": "8797",
        "KEEPSTEP_CONSOLE_QUERIES": "100000",
    }  # fmt: skip
    began_at = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keepstep.console", env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with httpx.AsyncClient(base_url="http://127.0.0.1:8797", timeout=60) as web:
            while not await caught_up(web):
                assert process.returncode is None, "the console ended"
                assert time.monotonic() - began_at < START_LIMIT_S, "the console does not catch up"
                await asyncio.sleep(0.05)
            yield web, process.pid, time.monotonic() - began_at
    finally:
        process.terminate()
        await process.wait()


async def caught_up(web: httpx.AsyncClient) -> bool:
    """Return whether the console answers and has read everything."""
    try:
        return (await web.get("/readyz")).status_code == 200
    except httpx.TransportError:
        return False


async def measured(incidents: int, runs: int) -> Measured:
    """Fill a stream, start a console on it and ask it everything so many times."""
    log.configure(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder))
        url = (await server.start()).get_secret_value()
        client = await Client.open(url, POOL, name="benchmark")
        try:
            await client.provision()
            messages = await fill(client, said(incidents))
            async with console(url) as (web, pid, start_s):
                known = (await web.get("/api/v1/statistics")).json()
                assert known["incidents"] == incidents, known["incidents"]
                assert known["faults"] == incidents, known["faults"]
                answers = {path: await asked(web, path, runs) for path in PATHS}
                memory = psutil.Process(pid).memory_info().rss / 2**20
        finally:
            await client.close()
            await server.stop()
    return Measured(messages, start_s, memory, answers)


async def asked(web: httpx.AsyncClient, path: str, runs: int) -> list[float]:
    """Return the seconds of each answer."""
    seconds = []
    for _ in range(runs):
        began_at = time.monotonic()
        answer = await web.get("/api/v1" + path.format(incident=f"{7:032x}"))
        seconds.append(time.monotonic() - began_at)
        assert answer.status_code == 200, (path, answer.text)
    return seconds


def report(incidents: int, found: Measured) -> int:
    """Print the figures as Markdown and return 1 where a goal is missed."""
    measuring.begin(__doc__, also=f"; {incidents} incidents in {found.messages} messages")
    for path, seconds in found.answers_s.items():
        print(
            measuring.row(path, [1000 * each for each in seconds], unit="ms", goal=f"< {1000 * GOAL_S:.0f}", digits=0)
        )
    print(measuring.row("start: until all is read", [found.start_s], unit="s", digits=1))
    print(measuring.row("memory after that", [found.memory_mib], unit="MiB", goal=f"< {GOAL_MIB}", digits=0))
    return int(max(map(max, found.answers_s.values())) > GOAL_S or found.memory_mib > GOAL_MIB)


def main() -> int:
    """Measure and print; the exit code is 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.console", description=__doc__)
    parser.add_argument("--incidents", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    return report(options.incidents, asyncio.run(measured(options.incidents, options.runs)))


if __name__ == "__main__":
    sys.exit(main())
