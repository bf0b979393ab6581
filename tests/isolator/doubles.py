"""A fleet, pods of others and a clock that behave, in memory."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import Census, CordonMark, NodeStatus, Stay, Withheld
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.roll import Roll
from tests.isolator.words import NOW


class Fleet:
    """A cluster's nodes in memory: foreign marks stay, ours come and go."""

    def __init__(self, *nodes: NodeStatus) -> None:
        self.by_name = {one.name: one for one in nodes}
        self.cordons: list[str] = []
        self.looks = 1000
        """After so many looks the cluster cannot be reached, which ends those who watch."""

    async def nodes(self) -> tuple[NodeStatus, ...]:
        await asyncio.sleep(0)
        self.looks -= 1
        if self.looks < 0:
            raise Transient("the cluster cannot be reached")
        return tuple(self.by_name.values())

    async def census(self) -> Census:
        return Roll(await self.nodes()).census

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        await asyncio.sleep(0)
        there = self.by_name[node]
        if there.mark is not None and there.mark.owner != mark.owner:
            raise Permanent(f"node {node} is cordoned by {there.mark.owner}")
        if there.mark is None:
            self.cordons.append(node)
            self.put(node, mark=mark)

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        there = self.by_name[node]
        if there.mark is not None and there.mark.owner != owner:
            raise Permanent(f"node {node} is cordoned by {there.mark.owner}")
        self.put(node, mark=None)

    def put(self, name: str, *, mark: CordonMark | None) -> None:
        """Set or clear a mark, as a hand on the cluster would."""
        there = self.by_name[NodeName(name)]
        self.by_name[there.name] = replace(there, mark=mark)

    async def withhold(self, node: NodeName, device: str, mark: CordonMark) -> None:
        there = self.by_name[node]
        if not there.withholds:
            raise Permanent(f"nothing on {node} heeds a device that is withheld")
        kept = tuple(one for one in there.withheld if one.device != device)
        self.by_name[node] = replace(there, withheld=(*kept, Withheld(device, mark)))

    async def give_back(self, node: NodeName, device: str) -> None:
        there = self.by_name[node]
        kept = tuple(one for one in there.withheld if one.device != device)
        self.by_name[node] = replace(there, withheld=kept)

    def turn(self, name: str, *, ready: bool) -> None:
        """Make the node ready or not."""
        there = self.by_name[NodeName(name)]
        self.by_name[there.name] = replace(there, ready=ready)


class Others:
    """Pods of others on a node: each stays for so many askings, the last for ever where ``stubborn``."""

    def __init__(self, *, askings: int = 0, stubborn: bool = False) -> None:
        self.askings, self.stubborn = askings, stubborn
        self.asked = 0
        self.driven_out: list[str] = []

    async def evict(self, node: NodeName, *, why: str) -> tuple[Stay, ...]:
        assert node
        assert why
        await asyncio.sleep(0)
        self.asked += 1
        stays = self.stubborn or self.asked <= self.askings
        return (Stay("default/web-0", "budget web is spent"),) if stays else ()

    async def drive_out(self, node: NodeName, *, why: str) -> None:
        self.driven_out.append(f"{node}: {why}")


class Clock:
    """A clock that goes on by ``tick`` at every look."""

    def __init__(self, tick: float = 0) -> None:
        self.at = NOW
        self.tick = timedelta(seconds=tick)

    def now(self) -> datetime:
        self.at += self.tick
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOW).total_seconds()
