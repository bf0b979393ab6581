"""``keepstep fault``: faults injected on purpose, to see what happens."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli.columns import hanging, terminal_width
from keepstep.cli.inject import KINDS, Aim, inject
from keepstep.cli.options import AsJson, Data, application, emit, write
from keepstep.cli.places import data_folder
from keepstep.contracts.message import Message

app = application()


@app.command("list")
def list_faults(json: AsJson = False) -> None:
    """List the kinds of fault, the option that says where, and what each does."""
    if json:
        emit([{"kind": str(kind), "where": where, "what": what} for kind, (where, what) in KINDS.items()])
        return
    width = terminal_width()
    for kind, (where, what) in [("KIND", ("WHERE", "WHAT")), *KINDS.items()]:
        write(hanging(f"{kind:<13}  {where:<6}  ", what, width))


@app.command("inject")
def inject_fault(
    kind: Annotated[str, typer.Argument(help="one of keepstep fault list")],
    *,
    job: Annotated[str | None, typer.Option(help="name or uid of the job to hurt, where several run")] = None,
    rank: Annotated[int | None, typer.Option(help="global rank")] = None,
    task: Annotated[str | None, typer.Option(help="name or uid of a task, as in worker-1")] = None,
    node: Annotated[str | None, typer.Option(help="name of a node on which the job has a task")] = None,
    device: Annotated[str, typer.Option(help="for device: which one of the node")] = "0",
    seconds: Annotated[
        float | None, typer.Option(min=0, help="for slow: how much longer each step takes; for disk-full: for how long")
    ] = None,
    line: Annotated[str, typer.Option(help="for log: what the rank prints")] = "Loss nan",
    data: Data = None,
) -> None:
    """Inject a fault into a job of local nodes."""
    aim = Aim(rank=rank, task=task, node=node, device=device, seconds=seconds, line=line)
    write(asyncio.run(_inject(kind, aim, job, data_folder(data))))


async def _inject(kind: str, aim: Aim, job: str | None, data: Path) -> str:
    from keepstep.cli.connect import connected  # noqa: PLC0415 - 0.2 s that fault list does not need
    from keepstep.cli.known import living_job, only_job  # noqa: PLC0415 - no other command of this group pays for it
    from keepstep.cli.say import give  # noqa: PLC0415 - as above

    found, where = await (only_job(data, aim.node, to="hurt") if job is None else living_job(data, job, to="hurt"))

    async def say(message: Message) -> None:
        async with connected(where) as client:
            await give(client, message)

    return await inject(kind, aim, where, found.view.placement, say)
