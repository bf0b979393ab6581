"""Who asks, and what he may do: the one seam between the console and whoever authenticates.

Every route that reads ``Depends(needs(Role.VIEWER))``, every route that acts names a higher role. ``current_user`` is
what an authentication puts in place by ``app.dependency_overrides[current_user]``; as long as none is configured the
console listens on loopback only, and whoever reaches it is the user of this machine with every right.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Role


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


@dataclass(frozen=True)
class Needs:
    """A dependency that hands on the user, or answers 403 where his role is too low; a route shows what it takes."""

    role: Role

    async def __call__(self, user: Annotated[User, Depends(current_user)]) -> User:
        """Return the user."""
        if not user.role.allows(self.role):
            raise HTTPException(403, f"{user.name} is {user.role}; this takes {self.role}")
        return user


def needs(role: Role) -> Needs:
    """Return the dependency of a route that takes this role."""
    return Needs(role)
