"""``keepstep deadletter``: messages that nobody could take, and what becomes of them."""

import asyncio
from typing import Annotated

import typer

from keepstep.cli import history
from keepstep.cli.connect import archived, connected, joined
from keepstep.cli.options import AsJson, Data, JobOption, application, emit, listing
from keepstep.cli.places import address_of, data_folder
from keepstep.core.excerpt import excerpt
from keepstep.runtime.deadletter import DeadLetter

app = application()
Number = Annotated[int, typer.Argument(help="the letter's number; keepstep deadletter list shows them")]


@app.command("list")
def list_letters(job: JobOption = None, json: AsJson = False, data: Data = None) -> None:
    """List the dead letters, oldest first, each with its reason."""
    found = asyncio.run(_list(data, job))
    if json:
        emit([_object(letter) for letter in found])
        return
    rows = [
        (str(one.number), f"{one.time:%Y-%m-%d %H:%M:%S}", one.service, one.subject.split(".")[2], one.reason)
        for one in found
    ]
    listing(("NUMBER", "TIME", "SERVICE", "TYPE", "REASON"), rows)


def _object(letter: DeadLetter) -> dict[str, object]:
    return {
        "number": letter.number,
        "time": letter.time.isoformat(),
        "service": letter.service,
        "subject": letter.subject,
        "sequence": letter.sequence,
        "incident": letter.incident,
        "reason": letter.reason,
        "body": excerpt(letter.body),
    }


async def _list(data: Data, job: str | None) -> tuple[DeadLetter, ...]:
    source = history.sources(data_folder(data), job)[0]
    match source:
        case history.Running():
            opened = connected(source.address)
        case history.EndedUp():
            opened = archived(source.address)
        case history.EndedRun():
            opened = archived(address_of(source.folder))
    async with opened as client:
        return await client.dead_letters.list()


@app.command()
def replay(number: Number, job: JobOption = None, data: Data = None) -> None:
    """Put the original message into the stream again and forget the letter."""
    asyncio.run(_replay(number, job, data))


async def _replay(number: int, job: str | None, data: Data) -> None:
    async with joined(data_folder(data), job) as (client, _):
        await client.dead_letters.replay(number)


@app.command()
def drop(number: Number, job: JobOption = None, data: Data = None) -> None:
    """Forget the letter."""
    asyncio.run(_drop(number, job, data))


async def _drop(number: int, job: str | None, data: Data) -> None:
    async with joined(data_folder(data), job) as (client, _):
        await client.dead_letters.drop(number)
