"""What routes reach: the console of the app that was asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from keepstep.console.access import User, needs
from keepstep.console.audit import Audit
from keepstep.console.board import Board
from keepstep.console.desk import Desk
from keepstep.console.hub import Full, Hub, Subscription
from keepstep.console.limits import Limiter
from keepstep.console.live import Live
from keepstep.console.settings import ConsoleSettings
from keepstep.console.views import EventView
from keepstep.contracts.taxonomy import Role
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
    audit: Audit
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


def counted(here: Here, user: Viewer) -> None:
    """Count a query or an order of this user, wherever he asks from; answers 429 past so many in a second."""
    if here.limiter.wait_s(user.name, monotonic()) > 0:
        most = here.settings.console_queries
        raise HTTPException(429, f"more than {most} queries in a second", headers={"Retry-After": "1"})


COUNTED = (Depends(counted),)
"""What every route of the API has, and of the pages every one that orders or reads more than the model."""


def joined(here: Console, user: User, wants: Callable[[EventView], bool]) -> Subscription:
    """Return a user's subscription to news; answers 429 where he, or all together, have as many as are served."""
    try:
        return here.hub.join(user.name, wants)
    except Full as error:
        raise HTTPException(429, str(error), headers={"Retry-After": "10"}) from error
