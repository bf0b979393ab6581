"""Orders that go to one job, or to the pool, whose services bring them to every job in it."""

from pathlib import Path

from keepstep.cli import history
from keepstep.cli.say import order
from keepstep.contracts.message import Order


async def say_to_jobs(kind: type[Order], data: Path, job: str | None) -> None:
    """Say the order to the job, or once to the pool."""
    async with history.joined(data, job) as (client, where):
        about = None if job is None else await history.newest_job(client, job)
        await client.say(order(kind, where.pool, job=about))
