"""Orders that go to one job, or to the pool, whose services bring them to every job in it."""

from pathlib import Path

from keepstep.cli.connect import joined
from keepstep.cli.known import ask
from keepstep.cli.options import write
from keepstep.cli.say import give, order
from keepstep.contracts.message import Order
from keepstep.contracts.orders import PauseActions, ResumeActions

ASKED: dict[type[Order], str] = {PauseActions: "pause", ResumeActions: "resume"}


async def say_to_jobs(kind: type[Order], data: Path, job: str | None) -> None:
    """Say the order to the job, or once to the pool. Raises Failed if there is no stack, or no such job that runs."""
    if job is None:
        async with joined(data) as (client, where):
            await give(client, order(kind, where.pool))
        write(f"asked to {ASKED[kind]} actions for pool {where.pool} and all its jobs")
        return
    write(await ask(data, job, lambda pool, meant: order(kind, pool, job=meant), to=ASKED[kind]))
