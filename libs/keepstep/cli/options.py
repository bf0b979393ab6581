"""Options that several commands share, with one wording."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from keepstep.cli.columns import table, terminal_width
from keepstep.core.harmless import harmless, harmless_cell

Data = Annotated[
    Path | None, typer.Option("--data", help="folder of the stack and its runs; default $KEEPSTEP_DATA or .keepstep")
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON with stable keys and nothing else")]
JobOption = Annotated[str | None, typer.Option("--job", help="name or uid of a job")]
Reason = Annotated[str, typer.Option("--reason", help="why, for those who read it later")]


def application() -> typer.Typer:
    """Return an empty command without completion scripts and decorated tracebacks."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


def emit(document: object) -> None:
    """Print one JSON document; models become objects."""
    write(json.dumps(_plain(document), ensure_ascii=False, indent=1))


def write(text: str, *, end: str = "\n") -> None:
    """Print a line; a terminal gets it without powers over it, a file or a pipe as it is."""
    sys.stdout.write((harmless(text) if sys.stdout.isatty() else text) + end)
    sys.stdout.flush()


def listing(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that fits the terminal."""
    width = terminal_width()
    cells = rows if width is None else ([harmless_cell(cell) for cell in row] for row in rows)
    write(table(head, cells, width))


def note(text: str | None) -> None:
    """Print a line beside the output, where there is something to say."""
    if text is not None:
        sys.stderr.write(f"keepstep: {harmless(text) if sys.stderr.isatty() else text}\n")


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        plain: object = value.model_dump(mode="json")
        return plain
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value
