"""Faults per second through the real diagnoser on a real bus: read, fold, compare-and-set, say, acknowledge.

Run ``python -m benchmarks.diagnoser_throughput [--incidents 300] [--runs 5]``. An incident is ten faults of one job: a
rank that was killed and nine peers that lost their connection to it; twenty jobs fail at the same time. Of each ten
faults the diagnoser says IncidentOpened once, and FaultDiagnosed when they have settled. The stream is filled first, so
that the diagnoser, not whoever speaks to it, is measured; server, diagnoser and clock share this machine, and every
write waits for the disk. Counted are the faults, not the JobAccepted before them nor the deadlines after them.
"""

import argparse
import asyncio
import logging
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import SecretStr
from tests.diagnosis.facts import PEER_CLOSED, exit_of

from benchmarks import measuring
from keepstep.adapters.clock import SystemClock
from keepstep.contracts.events import FaultDetected, FaultDiagnosed, IncidentOpened, JobAccepted
from keepstep.contracts.ids import EventId, JobUid, Pool, derive
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import Command, JobRef, JobSpec
from keepstep.diagnoser.app import build
from keepstep.runtime import log, names
from keepstep.runtime.client import Client
from keepstep.runtime.http import Health
from keepstep.runtime.nats_server import NatsServer
from keepstep.runtime.service import run
from keepstep.runtime.settings import Settings

FAULTS = 10
AT_ONCE = 20
LIMIT_S = 120.0
"""For a run of 3,000 faults: 25 per second, a fortieth of the goal."""
POLL_S = 0.01
"""Under a hundredth of a run at the goal's pace."""
GOAL = "1000/s"


@dataclass(frozen=True)
class Run:
    """One run: faults per second, and how many compare-and-sets and outputs they took."""

    rate: float
    writes: float
    said: float


def job_of(number: int) -> JobRef:
    """Return one of the jobs."""
    return JobRef(name=f"job-{number}", uid=JobUid(f"job-{number}"))


def accepted(pool: Pool, number: int) -> JobAccepted:
    """Return the beginning of a job; the diagnoser decides nothing about jobs that nobody began."""
    spec = JobSpec(name=f"job-{number}", entrypoint=Command(argv=("train",)), nodes=FAULTS)
    now = SystemClock().now()
    return JobAccepted(id=EventId(f"accept-{number}"), time=now, pool=pool, job=job_of(number), spec=spec)


def faults_of(pool: Pool, number: int) -> list[FaultDetected]:
    """Return the faults of one incident, about 1 KB each."""
    exits = [exit_of(0, signal=9), *(exit_of(rank, *PEER_CLOSED, after=0.01 * rank) for rank in range(1, FAULTS))]
    now = SystemClock().now()
    return [
        fault.model_copy(
            update={
                "id": EventId(derive("benchmark", number, fault.id)),
                "time": now,
                "occurred": now + timedelta(milliseconds=10 * rank),
                "pool": pool,
                "job": job_of(number),
            }
        )
        for rank, fault in enumerate(exits)
    ]


async def fill(client: Client, incidents: int) -> None:
    """Put jobs and faults into the stream: of jobs that fail at the same time one fault of each in turn."""
    for first in range(0, incidents, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, incidents))
        await asyncio.gather(*(client.publish(accepted(client.pool, number)) for number in numbers))
        for together in zip(*(faults_of(client.pool, number) for number in numbers), strict=True):
            await asyncio.gather(*(client.publish(fault) for fault in together))


async def measure(url: SecretStr, number: int, incidents: int) -> Run:
    """Return the figures of one run in a pool of its own."""
    pool = Pool(f"run-{number}")
    client = await Client.open(url.get_secret_value(), pool, name="benchmark")
    await client.provision()
    await fill(client, incidents)
    last = await client.last_sequence()
    stop, health = asyncio.Event(), Health()
    settings = Settings(nats_url=url, pool=pool)
    running = asyncio.create_task(run([build(settings)], settings, stop=stop, health=health))
    await health.wait_active()
    started = time.perf_counter()
    async with asyncio.timeout(LIMIT_S):
        await until_acknowledged(client, last)
        took = time.perf_counter() - started
        bucket = await client.js.stream_info(f"KV_{names.folds_room(pool, Service.DIAGNOSER)}")
        said = 0
        async for heard in client.follow():
            said += isinstance(heard.message, IncidentOpened | FaultDiagnosed)
            if said == 2 * incidents:
                break
    stop.set()
    await running
    await client.close()
    return Run(incidents * FAULTS / took, bucket.state.last_seq, said)


async def until_acknowledged(client: Client, last: int) -> None:
    """Return when the diagnoser has acknowledged everything up to this sequence without a gap."""
    stream = names.stream_name(client.pool)
    while True:
        consumers = [info for info in await client.js.consumers_info(stream) if info.name.startswith(Service.DIAGNOSER)]
        if any(info.ack_floor is not None and info.ack_floor.stream_seq >= last for info in consumers):
            return
        await asyncio.sleep(POLL_S)  # the server tells nobody how far a consumer is


async def main(incidents: int, runs: int) -> None:
    """Print the table."""
    log.configure(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="keepstep-bench-") as folder:
        server = NatsServer(Path(folder))
        url = await server.start()
        done = [await measure(url, number, incidents) for number in range(runs)]
        await server.stop()
    measuring.begin(__doc__, also=f"; runs of {FAULTS * incidents} faults of {incidents} jobs")
    rates = [each.rate for each in done]
    print(measuring.row("faults through the diagnoser", rates, unit="per s", goal=GOAL, digits=0))
    print(measuring.row("compare-and-sets meanwhile", [each.writes for each in done], unit="", digits=0))
    print(measuring.row("incidents opened and verdicts said", [each.said for each in done], unit="", digits=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--incidents", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5)
    asyncio.run(main(**vars(parser.parse_args())))
