"""Orders that go to one job, or to the pool, whose services bring them to every job in it."""

from pathlib import Path

from keepstep.cli import history
from keepstep.cli.options import write
from keepstep.cli.say import order
from keepstep.contracts.message import Order
from keepstep.contracts.orders import PauseActions, ResumeActions

ASKED: dict[type[Order], str] = {PauseActions: "pause", ResumeActions: "resume"}


async def say_to_jobs(kind: type[Order], data: Path, job: str | None) -> None:
    """Say the order to the job, or once to the pool."""
    async with history.joined(data, job) as (client, where):
        about = None if job is None else await history.newest_job(client, job)
        await client.say(order(kind, where.pool, job=about))
    whom = f"pool {where.pool} and all its jobs" if about is None else f"job {about.name} {about.uid}"
    write(f"asked to {ASKED[kind]} actions for {whom}")
