"""``keepstep schema``: what is on the wire."""

from enum import StrEnum
from typing import Annotated

import typer

from keepstep.cli import schemas
from keepstep.cli.options import application, emit

app = application()


class Kind(StrEnum):
    """Which document."""

    ASYNCAPI = "asyncapi"
    JSON = "json"


@app.command()
def schema(kind: Annotated[Kind, typer.Argument(help="asyncapi: one document; json: one schema per message")]) -> None:
    """Print the AsyncAPI 3.0 document or the JSON Schemas by message name."""
    emit(schemas.asyncapi() if kind is Kind.ASYNCAPI else schemas.json_schemas())
