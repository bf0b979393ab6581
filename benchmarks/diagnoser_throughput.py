"""Events per second through one stage on the real bus: read, fold, compare-and-set, one output per ten, acknowledge.

Run ``python -m benchmarks.diagnoser_throughput [--events 5000] [--jobs 20] [--runs 5]``. The stream is filled first, so
that the stage, not the publisher, is measured; all of it shares this machine: server, stage and clock.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from keepstep.contracts.events import FaultCleared, NodeReported
from keepstep.contracts.ids import EventId, JobUid, NodeName, Pool, consequence_id, derive
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobRef
from keepstep.core.decision import Decision
from keepstep.runtime import log, names
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer
from keepstep.runtime.service import App, Context, Health, Settings, run
from keepstep.runtime.stage import Stage

PER_OUTPUT = 10


class Count(Frozen):
    """A fold of a diagnoser's size: the last hundred ids, to recognise duplicates."""

    total: int = 0
    recent: tuple[str, ...] = ()


def decide(count: Count | None, message: Message, now: datetime) -> Decision[Count]:
    """Count, and say something at every tenth message."""
    count = count or Count()
    following = Count(total=count.total + 1, recent=(*count.recent, message.id)[-100:])
    if following.total % PER_OUTPUT:
        return Decision(following)
    name = consequence_id("FaultCleared", message.id)
    said = FaultCleared(**envelope(message, time=now), id=name, because=f"{following.total} events")
    return Decision(following, (said,), because=said.because)


def stage(_context: Context[Count]) -> Stage[Count]:
    """Return the measured stage."""
    return Stage(
        service=Service.DIAGNOSER,
        hears=(NodeReported,),
        state=Count,
        fold_key=lambda message: message.key,
        decide=decide,
    )


async def fill(client: Client, events: int, jobs: int) -> None:
    """Put the events into the stream, spread over the jobs."""
    for start in range(0, events, 100):
        numbers = range(start, min(start + 100, events))
        await asyncio.gather(*(client.publish(event(client.pool, number, number % jobs)) for number in numbers))


def event(pool: Pool, number: int, job: int) -> NodeReported:
    """Return one event of about 400 bytes."""
    return NodeReported(
        id=EventId(derive("benchmark", number)),
        time=datetime.now(UTC),
        pool=pool,
        node=NodeName("node-1"),
        job=JobRef(name=f"job-{job}", uid=JobUid(derive("job", job))),
        condition="benchmark",
        text="x" * 60,
    )


async def measure(url: SecretStr, number: int, *, events: int, jobs: int) -> float:
    """Return the events per second of one run in a pool of its own, and say how many writes they took."""
    pool = Pool(f"run-{number}")
    client = await Client.open(url.get_secret_value(), pool, name="benchmark")
    await client.provision()
    await fill(client, events, jobs)
    stop, health = asyncio.Event(), Health()
    settings = Settings(nats_url=url, pool=pool)
    running = asyncio.create_task(run([App(Service.DIAGNOSER, stage)], settings, stop=stop, health=health))
    await health.wait_active()
    started, outputs = time.perf_counter(), 0
    async for _ in client.follow(kind=FaultCleared.__name__):
        outputs += 1
        if outputs == events // jobs // PER_OUTPUT * jobs:
            break
    took = time.perf_counter() - started
    stop.set()
    await running
    bucket = await client.js.stream_info(f"KV_{names.folds_room(pool, Service.DIAGNOSER)}")
    await client.close()
    print(f"run {number + 1}: {events / took:.0f} events/s in {bucket.state.last_seq} compare-and-sets")
    return events / took


async def main(events: int, jobs: int, runs: int) -> None:
    """Print each run and their median."""
    log.configure(50)
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder))
        url = await server.start()
        figures = [await measure(url, number, events=events, jobs=jobs) for number in range(runs)]
        await server.stop()
    low, high = min(figures), max(figures)
    print(
        f"{events} events over {jobs} jobs: median {statistics.median(figures):.0f} events/s ({low:.0f} to {high:.0f})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    asyncio.run(main(**vars(parser.parse_args())))
