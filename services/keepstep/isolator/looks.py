"""Looks at the fleet that all who tend isolated nodes share: 200 nodes out of 10,000 are one look a second, not 200."""

import asyncio
from dataclasses import dataclass

from keepstep.ports.cluster import Census, Fleet
from keepstep.ports.roll import Roll


@dataclass(frozen=True)
class Look:
    """The fleet as it was seen, or later; looks are numbered in the order in which they began."""

    number: int
    census: Census


class Looks:
    """One look at a time."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._begun = 0
        self._last = Look(0, Roll().census)
        self._one_at_a_time = asyncio.Lock()

    @property
    def begun(self) -> int:
        """The number of the newest look, which may be under way: what is newer sees everything that is there now."""
        return self._begun

    async def newer(self, than: int) -> Look:
        """Return the last look if it is newer than that number, else a fresh one. Raises Transient."""
        async with self._one_at_a_time:
            if self._last.number <= than:
                self._begun += 1
                number, census = self._begun, await self._fleet.census()
                self._last = Look(number, census)
            return self._last
