"""``keepstep console``: who may come into the console."""

import os
from pathlib import Path
from typing import Annotated

import typer

from keepstep.cli.console import is_installed
from keepstep.cli.errors import Refused
from keepstep.cli.options import AsJson, application, emit, note, write

app = application()
File = Annotated[Path | None, typer.Option("--file", help="add the line to this file of tokens instead of printing it")]


@app.callback()
def console() -> None:
    """Who may come into the console; the console itself is part of keepstep up."""


@app.command()
def token(
    name: Annotated[str, typer.Argument(help="whose token it is; stands in the orders that are given with it")],
    role: Annotated[str, typer.Option(help="viewer, operator or admin")] = "viewer",
    file: File = None,
    json: AsJson = False,
) -> None:
    """Make a token: it is shown this once, the line for KEEPSTEP_CONSOLE_TOKENS has only what it is checked by."""
    if not is_installed():
        raise Refused("the console is not installed; pip install 'keepstep[services,console]'")
    from keepstep.console.login.tokens import made, read  # noqa: PLC0415 - the same
    from keepstep.contracts.taxonomy import Role  # noqa: PLC0415 - loads the web framework, for which --help does not wait

    if role not in tuple(Role):
        raise typer.BadParameter(f"{role} is none of {', '.join(Role)}", param_hint="--role")
    file = None if file is None else file.resolve()  # a link stays one
    text = "" if file is None or not file.exists() else file.read_text(encoding="utf-8")
    if name in read(text):
        raise Refused(f"{file} has a line for {name} already; take it out, or choose another name")
    new = made(name, Role(role))
    if file is not None:
        _add(file, text, new.line)
    if json:
        emit({"token": new.token, "line": new.line})
        return
    note("the token, shown this once:")
    write(new.token)
    if file is None:
        note("the line for the file that KEEPSTEP_CONSOLE_TOKENS names:")
        write(new.line)
    else:
        note(f"its line is in {file}; a console that reads the file knows it at once")


def _add(file: Path, text: str, line: str) -> None:
    """Add a line in one step, so that no console reads half a file; a new one is its owner's alone."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as out:
        out.write(text + ("" if text.endswith("\n") or not text else "\n") + line + "\n")
    beside.replace(file)
