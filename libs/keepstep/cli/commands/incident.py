"""``keepstep incident``: what went wrong, what was done and what it cost."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli import history, show
from keepstep.cli.columns import terminal_width
from keepstep.cli.errors import Failed
from keepstep.cli.incidents import Incidents, all_incidents, incidents
from keepstep.cli.options import AsJson, Data, JobOption, application, emit, note, write
from keepstep.cli.places import data_folder
from keepstep.cli.say import give, order
from keepstep.contracts.orders import AckIncident
from keepstep.core.timeline import Timeline

app = application()
Id = Annotated[str, typer.Argument(help="the incident's id, or its first digits")]


@app.command("list")
def list_incidents(job: JobOption = None, json: AsJson = False, data: Data = None) -> None:
    """List the incidents, oldest first."""
    found = asyncio.run(incidents(data_folder(data), job))
    note(history.covers(data_folder(data), job))
    if json:
        emit([found.as_object(one, whole=False) for one in found])
        return
    write(show.incident_table(tuple(found), terminal_width(), waits=found.waits))


@app.command("show")
def show_incident(incident: Id, job: JobOption = None, json: AsJson = False, data: Data = None) -> None:
    """Show one incident: what, who, why, level, cost, what it waits for, and every step with its second."""
    known = asyncio.run(_known(data_folder(data), job))
    found = _named(tuple(known), incident)
    if json:
        emit(known.as_object(found, whole=True))
    else:
        write("\n".join(show.timeline_lines(found, terminal_width(), waits=known.waits(found))))


@app.command("ack")
def acknowledge(incident: Id, job: JobOption = None, data: Data = None) -> None:
    """Say that you look after the incident."""
    asyncio.run(_acknowledge(incident, job, data_folder(data)))


async def _acknowledge(incident: str, job: str | None, folder: Path) -> None:
    found = _named(tuple(await _known(folder, job)), incident)
    from keepstep.cli.connect import joined  # noqa: PLC0415 - 0.2 s that a listing does not need

    async with joined(folder, found.job.uid if found.job else None) as (client, where):
        said = order(AckIncident, where.pool, job=found.job, node=found.node, incident=found.incident)
        await give(client, said)
    write(f"asked to acknowledge incident {show.short(found.incident)}")


async def _known(folder: Path, job: str | None) -> Incidents:
    """Return every incident that may be named: of one job, else of the stack and all runs."""
    return await (all_incidents(folder) if job is None else incidents(folder, job))


def _named(known: tuple[Timeline, ...], name: str) -> Timeline:
    found = [one for one in known if one.incident.startswith(name)]
    if len(found) != 1:
        raise Failed(f"{len(found) or 'no'} incidents begin with {name}; keepstep incident list shows them")
    return found[0]
