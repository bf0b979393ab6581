"""Orders that go to one job, or to the pool and every job in it."""

from pathlib import Path

from keepstep.cli import history
from keepstep.cli.jobs import jobs_of
from keepstep.cli.say import order
from keepstep.contracts.message import Order


async def say_to_jobs(kind: type[Order], data: Path, job: str | None) -> None:
    """Say the order to the job, or to the pool and to each job that has not ended: folds are kept per job."""
    async with history.joined(data, job) as (client, where):
        if job is not None:
            await client.say(order(kind, where.pool, job=await history.newest_job(client, job)))
            return
        await client.say(order(kind, where.pool))
        for known in await jobs_of(client):
            if not known.ended:
                await client.say(order(kind, where.pool, job=known.ref))
