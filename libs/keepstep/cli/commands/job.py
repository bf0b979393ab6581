"""``keepstep job``: jobs on the cluster of a running stack."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli import history, show
from keepstep.cli.columns import shortened, terminal_width
from keepstep.cli.commands.events import events as list_events
from keepstep.cli.commands.job_create import create
from keepstep.cli.commands.job_inject import inject
from keepstep.cli.errors import Failed
from keepstep.cli.jobs import newest
from keepstep.cli.on_cluster import Cluster, needs_bus
from keepstep.cli.options import AsJson, Data, Reason, application, emit, listing, write
from keepstep.cli.output_tail import task_folders
from keepstep.cli.places import data_folder
from keepstep.cli.rank_logs import STREAMS, rank_logs, write_log
from keepstep.cli.say import order
from keepstep.contracts.orders import DeleteJob, StopJob

app = application()
app.command("create", context_settings={"allow_interspersed_args": False})(create)
app.command("inject")(inject)
MEANT = "name or uid of the job; of several of one name the one that has not ended, else the newest"
Name = Annotated[str, typer.Argument(help=MEANT)]


@app.command()
def get(job: Name, json: AsJson = False, data: Data = None, cluster: Cluster = None) -> None:
    """Show one job: state, generation, places, effective training time and its newest incidents."""
    needs_bus(cluster)
    from keepstep.cli.known import known_jobs  # noqa: PLC0415 - as above

    found = newest(asyncio.run(known_jobs(data_folder(data), job)), job)
    if json:
        emit(found.as_object(datetime.now(UTC)))
        return
    write(f"{found.ref.name} {found.ref.uid}: {shortened(found.view.line(), show.LONGEST)}")
    for placed in found.view.placement:
        ranks = f"rank{'' if len(placed.ranks) == 1 else 's'} {', '.join(map(str, placed.ranks))}"
        write(f"  {placed.task.name} on {placed.node}, {ranks}")
    write(f"  {show.ratio_line(found.ratio(datetime.now(UTC)))}")
    for line in show.history_lines(found.history, terminal_width()):
        write(line)


@app.command("list")
def list_jobs(json: AsJson = False, data: Data = None, cluster: Cluster = None) -> None:
    """List the jobs, oldest first."""
    needs_bus(cluster)
    from keepstep.cli.known import known_jobs  # noqa: PLC0415 - as above

    found = asyncio.run(known_jobs(data_folder(data)))
    if json:
        emit([one.as_object(datetime.now(UTC)) for one in found])
        return
    rows = [
        (one.ref.name, show.short(one.ref.uid), one.view.standing, shortened(one.view.facts(), show.LONGEST))
        for one in found
    ]
    listing(("NAME", "UID", "STATE", "NOW"), rows)


@app.command()
def events(
    job: Name, follow: Annotated[bool, typer.Option("--follow")] = False, json: AsJson = False, data: Data = None
) -> None:
    """List the job's events."""
    list_events(job=job, follow=follow, json=json, data=data)


@app.command()
def logs(
    job: Name,
    *,
    rank: Annotated[int | None, typer.Option(help="whose output; default: rank 0")] = None,
    generation: Annotated[int | None, typer.Option(help="of this generation alone; default: of all")] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="standard output alone")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="standard error alone")] = False,
    json: AsJson = False,
    data: Data = None,
) -> None:
    """Print what a rank of a local job printed, through all its generations and places, under the name of each file.

    Without --stdout and --stderr both are shown, one after the other.
    """
    folder = data_folder(data)
    uids = asyncio.run(_task_uids(folder, job))
    if not uids:
        raise Failed(f"there is no job {job} with tasks; keepstep job list shows the jobs")
    places = [path for cluster in history.clusters(folder, job) for path in task_folders(cluster, uids)]
    streams = [name for name, wanted in zip(STREAMS.values(), (stdout, stderr), strict=True) if wanted]
    found = rank_logs(places, rank=rank or 0, generation=generation, streams=streams or STREAMS.values())
    if not found:
        of = "" if generation is None else f" of generation {generation}"
        raise Failed(f"rank {rank or 0} of job {job} left no output{of} here")
    if json:
        emit([one.as_object() for one in found])
        return
    for one in found:
        write(one.mark)
        write_log(one)


async def _task_uids(data: Path, job: str) -> set[str]:
    return {message.task async for message in history.told(data, job) if message.task is not None}


@app.command()
def stop(job: Name, reason: Reason = "", data: Data = None, cluster: Cluster = None) -> None:
    """Stop a job's ranks and free its nodes; of several of one name the one that has not ended."""
    needs_bus(cluster)
    asyncio.run(_stop(data_folder(data), job, reason))


@app.command()
def delete(job: Name, data: Data = None, cluster: Cluster = None) -> None:
    """Stop a job, which listings still tell of, and delete its object; of several of one name the one not ended."""
    where = needs_bus(cluster)
    asyncio.run(_delete(data_folder(data), job) if where is None else _delete_on(where, data_folder(data), job))


async def _stop(data: Path, name: str, reason: str) -> None:
    from keepstep.cli.known import ask  # noqa: PLC0415 - as above

    write(await ask(data, name, lambda pool, job: order(StopJob, pool, job=job, reason=reason), to="stop"))


async def _delete(data: Path, name: str) -> None:
    from keepstep.cli.known import ask  # noqa: PLC0415 - as above

    write(await ask(data, name, lambda pool, job: order(DeleteJob, pool, job=job), to="delete"))


async def _delete_on(cluster: str, data: Path, name: str) -> None:
    from keepstep.cli.deleting import delete_job  # noqa: PLC0415 - an extra of its own

    write(await delete_job(data, name, cluster))
