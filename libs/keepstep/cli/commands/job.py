"""``keepstep job``: jobs on the cluster of a running stack."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli import history, policy_file, show
from keepstep.cli.commands.events import events as list_events
from keepstep.cli.errors import Failed
from keepstep.cli.jobs import KnownJob, jobs_of, listen, to_stop
from keepstep.cli.options import AsJson, Data, Reason, application, emit, write
from keepstep.cli.output_tail import OutputTail, task_folders
from keepstep.cli.places import StackAddress, data_folder, finished_run, means
from keepstep.cli.say import order
from keepstep.cli.specification import specify
from keepstep.cli.stack import connected
from keepstep.contracts.ids import JobUid, derive
from keepstep.contracts.orders import CreateJob, DeleteJob, StopJob
from keepstep.contracts.topology import JobRef, JobSpec

app = application()
Name = Annotated[str, typer.Argument(help="name or uid of the job; of several of one name the newest is meant")]


@app.command(context_settings={"allow_interspersed_args": False})
def create(
    script: Annotated[list[str] | None, typer.Argument(help="a .py file, -m module, or any command, after --")] = None,
    *,
    name: Annotated[str | None, typer.Option(help="the job's name; default: the script's")] = None,
    nodes: Annotated[int, typer.Option(help="nodes that the job's tasks take")] = 1,
    nproc: Annotated[int, typer.Option(help="ranks per node")] = 1,
    policy: Annotated[Path | None, typer.Option(help="TOML or JSON file of limits, windows and budgets")] = None,
    checkpoint_dir: Annotated[Path | None, typer.Option(help="where the script writes its checkpoints")] = None,
    resume_arg: Annotated[str | None, typer.Option(help="argument added at a restart, as in --resume={path}")] = None,
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the ranks; may be repeated")] = None,
    data: Data = None,
) -> None:
    """Create a job on the nodes of the running stack and print its uid."""
    spec = specify(
        script or [],
        name=name,
        nodes=nodes,
        nproc=nproc,
        policy=policy_file.load(policy),
        checkpoint_dir=checkpoint_dir,
        resume_arg=resume_arg,
        env=env or [],
    )
    write(asyncio.run(_create(spec, data_folder(data))))


async def _create(spec: JobSpec, data: Path) -> str:
    async with history.joined(data) as (client, where):
        said = order(CreateJob, where.pool, spec=spec)
        job = JobRef(name=spec.name, uid=JobUid(derive("job", said.id)))
        await client.say(said.model_copy(update={"job": job}))
        return job.uid


@app.command()
def get(job: Name, json: AsJson = False, data: Data = None) -> None:
    """Show one job: state, generation, places and effective training time."""
    found = _named(asyncio.run(_jobs(data, job)), job)
    if json:
        emit(found.as_object())
        return
    write(f"{found.ref.name} {found.ref.uid}: {found.view.line()}")
    for placed in found.view.placement:
        write(f"  {placed.task.name} on {placed.node}, ranks {', '.join(map(str, placed.ranks))}")


@app.command("list")
def list_jobs(json: AsJson = False, data: Data = None) -> None:
    """List the jobs, oldest first."""
    found = asyncio.run(_jobs(data, None))
    if json:
        emit([one.as_object() for one in found])
        return
    rows = [(one.ref.name, show.short(one.ref.uid), one.view.standing, one.view.facts()) for one in found]
    write(show.table(("NAME", "UID", "STATE", "NOW"), rows))


async def _jobs(data: Data, job: str | None) -> tuple[KnownJob, ...]:
    async with history.joined(data_folder(data), job) as (client, _):
        found = await jobs_of(client)
        await listen(client, [one for one in found if job is None or means(job, one.ref)])
        return found


def _named(jobs: tuple[KnownJob, ...], name: str) -> KnownJob:
    for job in reversed(jobs):
        if means(name, job.ref):
            return job
    raise Failed(f"there is no job {name}; keepstep job list shows them")


@app.command()
def events(
    job: Name, follow: Annotated[bool, typer.Option("--follow")] = False, json: AsJson = False, data: Data = None
) -> None:
    """List the job's events."""
    list_events(job=job, follow=follow, json=json, data=data)


@app.command()
def logs(
    job: Name,
    rank: Annotated[int, typer.Option(help="whose standard output")] = 0,
    data: Data = None,
) -> None:
    """Print what a rank of a local job printed, through all its generations and places."""
    folder = data_folder(data)
    uids = asyncio.run(_task_uids(folder, job))
    for cluster in history.clusters(folder, job):
        for line in OutputTail(rank).lines(task_folders(cluster, uids), last=True):
            write(line)


async def _task_uids(data: Path, job: str) -> set[str]:
    return {message.task async for message in history.told(data, job) if message.task is not None}


@app.command()
def stop(job: Name, reason: Reason = "", data: Data = None) -> None:
    """Stop a job's ranks and free its nodes; of several of one name the one that has not ended."""
    asyncio.run(_stop(job, data_folder(data), reason))


async def _stop(name: str, data: Path, reason: str) -> None:
    known: list[KnownJob] = []
    stacks: dict[JobUid, StackAddress] = {}
    for where in _stacks(name, data):
        async with connected(where) as client:
            jobs = await jobs_of(client)
        known += jobs
        stacks |= {job.ref.uid: where for job in jobs}
    job = to_stop(known, name).ref
    async with connected(stacks[job.uid]) as client:
        await client.say(order(StopJob, stacks[job.uid].pool, job=job, reason=reason))
    write(f"asked to stop job {job.name} {job.uid}")


def _stacks(name: str, data: Path) -> tuple[StackAddress, ...]:
    try:
        return history.addresses(data, name)
    except Failed:
        if (run := finished_run(data, name)) is None:
            raise
        raise Failed(f"job {name} has ended already, there is nothing to stop; its run is in {run}") from None


@app.command()
def delete(job: Name, data: Data = None) -> None:
    """Stop a job and forget it."""
    asyncio.run(_delete(job, data_folder(data)))


async def _delete(name: str, data: Path) -> None:
    async with history.joined(data, name) as (client, where):
        job = await history.newest_job(client, name)
        await client.say(order(DeleteJob, where.pool, job=job))
    write(f"asked to delete job {job.name} {job.uid}")
