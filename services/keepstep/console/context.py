"""What routes reach: the console of the app that was asked."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from keepstep.console.access import Role, User, needs
from keepstep.console.board import Board
from keepstep.console.desk import Desk
from keepstep.console.hub import Hub
from keepstep.console.limits import Limiter
from keepstep.console.live import Live
from keepstep.console.settings import ConsoleSettings
from keepstep.runtime.http import Answer


@dataclass(frozen=True)
class Console:
    """The console of one pool, wired."""

    settings: ConsoleSettings
    board: Board
    live: Live
    hub: Hub
    desk: Desk
    limiter: Limiter
    codes: Mapping[str, str]
    """Level of each code of public faults."""
    now: Callable[[], datetime]
    beside: Callable[[str], Answer] | None = None
    """What answers /healthz, /readyz and /metrics of the services that share the process."""


def console_of(request: Request) -> Console:
    """Return the console that was asked."""
    found: Console = request.app.state.console
    return found


Here = Annotated[Console, Depends(console_of)]
Viewer = Annotated[User, Depends(needs(Role.VIEWER))]
Operator = Annotated[User, Depends(needs(Role.OPERATOR))]
Admin = Annotated[User, Depends(needs(Role.ADMIN))]


def counted(request: Request, here: Here, user: Viewer) -> None:
    """Count a query of this user; answers 429 where he asked too often in a second."""
    client = "" if request.client is None else request.client.host
    wait = here.limiter.wait_s(f"{user.name}@{client}", time.monotonic())
    if wait > 0:
        most = here.settings.console_queries
        raise HTTPException(429, f"more than {most} queries in a second", headers={"Retry-After": "1"})
