"""``keepstep events``: what was said, oldest first."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli import history, show
from keepstep.cli.columns import terminal_width
from keepstep.cli.options import AsJson, Data, JobOption, application, emit, note, write
from keepstep.cli.places import data_folder
from keepstep.contracts.message import Message
from keepstep.core.showing import told

app = application()


@app.command()
def events(
    job: JobOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="go on with new ones until Ctrl-C")] = False,
    json: AsJson = False,
    data: Data = None,
) -> None:
    """List the events of the running stack, or of the newest finished run when none runs."""
    asyncio.run(_events(data_folder(data), job, follow=follow, json=json))


async def _events(data: Path, job: str | None, *, follow: bool, json: bool) -> None:
    note(history.covers(data, job))
    listed, width = [], terminal_width()
    async for message in history.told(data, job, follow=follow):
        if json and not follow:
            listed.append(as_object(message))
        elif json:
            emit(as_object(message))
        else:
            write(show.event_line(message, width=width))
    if json and not follow:
        emit(listed)


def as_object(message: Message) -> dict[str, object]:
    """Return the message with its type, as CloudEvents names it, and without secrets."""
    return {"type": message.type, **told(message).model_dump(mode="json")}
