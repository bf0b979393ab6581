"""Which words of a keepstep command line, as documents write it, there are none of."""

import shlex
from importlib import import_module

import typer

from keepstep.cli.main import COMMANDS


def wrong_in(line: str) -> set[str]:
    """Return the command, or its options, that keepstep does not have; what follows `` -- `` is somebody else's."""
    _, name, *rest = shlex.split(line.split(" -- ", maxsplit=1)[0])
    if name not in COMMANDS:
        return {name}
    command = typer.main.get_command(import_module(f"keepstep.cli.commands.{name}").app)
    inner: dict[str, object] = getattr(command, "commands", {})
    if inner:
        if rest and rest[0] not in inner:
            return {rest[0]}
        command = inner[rest[0]] if rest else command  # type: ignore[assignment]  # typer leaves these untyped
    known = {option for parameter in command.params for option in parameter.opts}
    return {word for word in rest if word.startswith("--")} - known
