"""The console of an embedded stack: in this process, behind the services, which decide first."""

import asyncio
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from keepstep.cli.say import person
from keepstep.contracts.taxonomy import Role
from keepstep.ports.errors import KeepstepError
from keepstep.runtime.http import Answer
from keepstep.runtime.settings import Settings

PATIENCE_S = 0.05
"""Before what was said is folded: a recovery's decisions, which this process takes too, come first."""


def is_installed() -> bool:
    """Return whether the libraries of the extra ``console`` are there."""
    return all(find_spec(name) is not None for name in ("fastapi", "uvicorn", "jinja2"))


async def keep(settings: Settings, port: int, beside: Callable[[str], Answer], served: "asyncio.Future[str]") -> None:
    """Serve the console until cancelled; ``served`` gets its address, or why there is none.

    It is loaded in a thread, since that takes most of a second and nothing of a stack waits for it.
    """
    try:
        app, own, access = await asyncio.to_thread(_loaded)
        told = settings.model_dump() | {"console_port": port, "console_patience_s": PATIENCE_S}
        user = access.User(name=person(), role=Role.ADMIN)
        async with app.running(own.ConsoleSettings(**told), user=user, beside=beside) as address:
            served.set_result(address)
            await asyncio.Event().wait()
    except KeepstepError as error:
        if not served.done():
            served.set_exception(error)
            served.exception()  # whoever does not ask need not hear of it


def _loaded():  # type: ignore[no-untyped-def]  # what the modules hold is typed where they are imported
    return tuple(import_module(f"keepstep.console.{name}") for name in ("app", "settings", "access"))
