"""What a pool must have before fault tolerance is promised in it: component versions, and isolation that is on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from keepstep.injection.objection import Objection


@dataclass(frozen=True, slots=True)
class Component:
    """A component of the cluster; ``found`` is its version, None where it is not there or could not be looked at."""

    name: str
    minimum: str
    found: str | None
    unseen: str = ""
    """Why it could not be looked at, "" where it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What is known of the pool that a job would run in."""

    isolation: bool = True
    components: tuple[Component, ...] = ()


def unmet(pool: Pool) -> Iterator[Objection]:
    """Yield what the pool lacks."""
    if not pool.isolation:
        because = "faulty nodes are not kept away from jobs in this pool"
        yield Objection("pool", because, "switch automatic isolation on, or create the job without keepstep")
    for component in pool.components:
        if component.unseen:
            because = f"the version of {component.name} cannot be seen: {component.unseen}"
            yield Objection("pool", because, "let the webhook read its Deployment, as k8s/components/versions does")
        elif component.found is None:
            because = f"{component.name} is not there; {component.minimum} or newer is needed"
            yield Objection("pool", because, "install it")
        elif version(component.found) < version(component.minimum):
            because = f"{component.name} is {component.found}; {component.minimum} or newer is needed"
            yield Objection("pool", because, "upgrade it")


def version(text: str) -> tuple[int, ...]:
    """Return the numbers of ``v1.6.10-rc1``, in the order in which they count; none of what is no version."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found is not None else ()
