"""``keepstep schema``: what is on the wire."""

import difflib
from enum import StrEnum
from typing import Annotated

import typer

from keepstep.cli import schemas
from keepstep.cli.errors import Refused
from keepstep.cli.options import application, emit

app = application()


class Kind(StrEnum):
    """Which document."""

    ASYNCAPI = "asyncapi"
    JSON = "json"


@app.command()
def schema(
    kind: Annotated[Kind, typer.Argument(help="asyncapi: one document; json: one schema per message")],
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="[MESSAGE]...", help="for json: only these, as in IncidentClosed")
    ] = None,
) -> None:
    """Print the AsyncAPI 3.0 document or the JSON Schemas by message name; of one message its schema alone."""
    asked = messages or []
    if kind is Kind.ASYNCAPI:
        if asked:
            raise Refused(f"asyncapi is one document of all messages; for {asked[0]} write keepstep schema json")
        emit(schemas.asyncapi())
        return
    known = schemas.json_schemas()
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise Refused(f"there is no message {name}; " + (f"did you mean {near[0]}?" if near else "json lists all"))
    emit(known[asked[0]] if len(asked) == 1 else {name: known[name] for name in asked or known})
