"""Events that the console says: who came in, who went, who was refused. Orders tell for themselves who gave them."""

from keepstep.contracts.message import Event
from keepstep.contracts.taxonomy import Entrance, Role


class LoggedIn(Event):
    """Somebody came into the console."""

    by: str
    role: Role
    via: Entrance
    client: str = ""
    """The address that it came from."""


class LoggedOut(Event):
    """Somebody ended his session."""

    by: str
    client: str = ""


class AccessRefused(Event):
    """The console did not let somebody in, or not do what he asked; a flood of them is said in part."""

    by: str = ""
    """Who it is, or says to be where that is all there is to know; empty where nothing tells."""
    role: Role | None = None
    via: Entrance
    asked: str = ""
    """Method and path."""
    because: str
    client: str = ""
    unsaid: int = 0
    """How many more there were since the last that was said."""
