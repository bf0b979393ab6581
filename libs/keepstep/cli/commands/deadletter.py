"""``keepstep deadletter``: messages that nobody could take, and what becomes of them."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from keepstep.cli import history
from keepstep.cli.connect import archived, connected, joined
from keepstep.cli.errors import Failed, Refused
from keepstep.cli.options import AsJson, Data, JobOption, application, emit, listing, write
from keepstep.cli.places import address_of, data_folder
from keepstep.contracts.taxonomy import Service
from keepstep.core.excerpt import excerpt
from keepstep.core.sentences import counted
from keepstep.ports.errors import Permanent
from keepstep.runtime.deadletter import DeadLetter

app = application()
Numbers = Annotated[
    list[int] | None, typer.Argument(metavar="[NUMBER]...", help="the letters; keepstep deadletter list shows them")
]
All = Annotated[bool, typer.Option("--all", help="all letters, instead of numbers")]
OfService = Annotated[Service | None, typer.Option("--service", help="with --all: those that this one could not take")]


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
def replay(
    numbers: Numbers = None, *, all_: All = False, service: OfService = None, job: JobOption = None, data: Data = None
) -> None:
    """Put the original messages into the stream again, oldest first, and forget the letters."""
    asyncio.run(_each("replayed", _Meant(tuple(numbers or ()), all_, service), job, data_folder(data)))


@app.command()
def drop(
    numbers: Numbers = None, *, all_: All = False, service: OfService = None, job: JobOption = None, data: Data = None
) -> None:
    """Forget the letters."""
    asyncio.run(_each("dropped", _Meant(tuple(numbers or ()), all_, service), job, data_folder(data)))


@dataclass(frozen=True)
class _Meant:
    """Which letters: those of these numbers, or all (that one service could not take)."""

    numbers: tuple[int, ...]
    all: bool
    service: Service | None

    def check(self) -> None:
        """Raise Refused unless it is clear which are meant."""
        if bool(self.numbers) == self.all:
            raise Refused("which letters? write their numbers, as keepstep deadletter list shows them, or --all")
        if self.service is not None and not self.all:
            raise Refused("--service goes with --all; leave it out, or write --all instead of the numbers")


async def _each(done: Literal["replayed", "dropped"], meant: _Meant, job: str | None, folder: Path) -> None:
    """Do it to each letter; one to which it cannot be done keeps it from no other. Raises Failed with those."""
    meant.check()
    async with joined(folder, job) as (client, _):
        letters = client.dead_letters
        numbers = meant.numbers or [
            one.number for one in await letters.list() if meant.service is None or one.service == meant.service
        ]
        act, left = letters.replay if done == "replayed" else letters.drop, list[str]()
        for number in dict.fromkeys(numbers):
            try:
                await act(number)
            except Permanent as error:
                left.append(str(error))
    write(f"{done} {counted(len(set(numbers)) - len(left), 'dead letter')}")
    if left:
        raise Failed("; ".join(left))
