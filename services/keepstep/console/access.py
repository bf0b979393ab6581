"""Who asks, and what he may do: the one seam between the console and whoever authenticates.

Every route that reads ``Depends(needs(Role.VIEWER))``, every route that acts names a higher role. ``current_user`` is
what an authentication puts in place by ``app.dependency_overrides[current_user]``; as long as none is configured the
console listens on loopback only, and whoever reaches it is the user of this machine with every right.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from keepstep.contracts.model import Frozen


class Role(StrEnum):
    """What a user may do; each may what the ones before it may."""

    VIEWER = "viewer"
    """Read everything."""
    OPERATOR = "operator"
    """Isolate, release, acknowledge, stop and create jobs, report faults."""
    ADMIN = "admin"
    """Also what concerns users and tokens."""

    def allows(self, wanted: "Role") -> bool:
        """Return whether this role includes another."""
        order = tuple(Role)
        return order.index(self) >= order.index(wanted)


class User(Frozen):
    """Who asks: his name stands in the orders that he gives."""

    name: str
    role: Role


LOCAL = User(name="local", role=Role.ADMIN)
"""Whoever reaches a loopback port of this machine."""


async def current_user(request: Request) -> User:
    """Return who asks: without an authentication, the user whom the app was built with."""
    local: User = getattr(request.app.state, "local_user", LOCAL)
    return local


def needs(role: Role) -> Callable[[User], User]:
    """Return a dependency that hands on the user, or answers 403 where his role is too low."""

    def allowed(user: Annotated[User, Depends(current_user)]) -> User:
        if not user.role.allows(role):
            raise HTTPException(403, f"{user.name} is {user.role}; this takes {role}")
        return user

    return allowed
