"""The nodes of a Kubernetes cluster as the port Fleet: reads from a cache, writes cordon and taint in one patch."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from keepstep.adapters.kube_cache import Cache, heard
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_cordon import cordoned, left_over, mark_of, released
from keepstep.adapters.kube_devices import Separated, device_info, is_npu, noted, separated, withheld_of
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid
from keepstep.adapters.kube_shelf import Change, How
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import Census, CordonMark, NodeStatus
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.roll import Roll


class KubeFleet:
    """Ports Fleet and Devices over an API server. ``follow`` must run for what it tells to be current.

    Each change is taken in as it comes: a look at 10,000 nodes looks at none of them.
    """

    def __init__(
        self,
        client: KubeClient,
        cache: Cache[Node],
        *,
        now: Callable[[], datetime],
        separated: Cache[Separated] | None = None,
    ) -> None:
        """``separated``: the ConfigMaps of kube-system.

        Without them a device is withheld by the annotation alone, where a label vouches for it.
        """
        self._client, self._cache, self._separated = client, cache, separated
        self._now = now
        self._known: dict[NodeName, Node] = {}
        self._roll = Roll()
        self._by_node: dict[NodeName, Separated] = {}

    async def follow(self) -> None:
        """Keep the cache current for ever, and respect whoever uncordons by hand: what is left of ours goes too."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_nodes())
            if self._separated is not None:
                group.create_task(self._follow_devices(self._separated))

    async def _follow_nodes(self) -> None:
        async for change in self._cache.changes():
            self._note(change)
            if change.how is not How.GONE and left_over(change.now):
                await self._yield_to_hand(change.now)

    async def _follow_devices(self, separated: Cache[Separated]) -> None:
        async for change in separated.changes():
            self._take(separated, change)

    async def nodes(self) -> tuple[NodeStatus, ...]:
        """Return all nodes as they are now; waits for the first lists. Raises Transient while they are not followed."""
        return tuple((await self.census()).nodes.values())

    async def census(self) -> Census:
        """Return the count that is kept; waits for the first lists. Raises Transient while they are not followed."""
        await self._current()
        return self._roll.census

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        """Cordon and taint the node with the mark; a foreign cordon raises Permanent and stays as it is."""

        def change(source: JsonObject) -> JsonObject | None:
            known = mark_of(node_of(source))
            if known is not None and known.owner != mark.owner:
                raise Permanent(f"node {node} is cordoned by {known.owner} ({known.reason}); it stays theirs")
            return None if known is not None else cordoned(source, mark)

        await self._edit(node, change, why=f"isolate: {mark.reason}")

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        """Take cordon, taint and notes off if they are ``owner``'s; a foreign cordon raises Permanent."""

        def change(source: JsonObject) -> JsonObject | None:
            found = node_of(source)
            known = mark_of(found)
            if known is not None and known.owner != owner:
                raise Permanent(f"node {node} was cordoned by {known.owner}, not by {owner}: ask them to release it")
            return released(source) if known is not None or left_over(found) else None

        await self._edit(node, change, why="release")

    async def withhold(self, node: NodeName, device: str, mark: CordonMark) -> None:
        """Note the device on the node, then put it on the list of its ConfigMap, where it has one."""
        listed = await self._has_list(node)
        if listed and not is_npu(device):
            raise Permanent(f"{device} is no device that the ConfigMap {device_info(node).name} could keep out")
        await self._edit(node, lambda source: noted(source, device, mark), why=f"isolate {device}: {mark.reason}")
        if listed:
            await self._separate(node, device, out=True, why=f"isolate {device}: {mark.reason}")

    async def give_back(self, node: NodeName, device: str) -> None:
        """Take the device off the ConfigMap's list, then off the node; so a half of it is found and done again."""
        if await self._has_list(node):
            await self._separate(node, device, out=False, why=f"release {device}")
        await self._edit(node, lambda source: noted(source, device, None), why=f"release {device}")

    async def _has_list(self, node: NodeName) -> bool:
        await self._current()
        return node in self._by_node

    async def _current(self) -> None:
        caches = [cache for cache in (self._cache, self._separated) if cache is not None]
        for cache in caches:
            await cache.listed()
        await heard(lambda: all(cache.following for cache in caches))

    async def _separate(self, node: NodeName, device: str, *, out: bool, why: str) -> None:
        changed = await self._client.edit(device_info(node), lambda source: separated(source, device, out=out), why=why)
        if self._separated is not None:
            self._take(self._separated, self._separated.learn(changed))

    def _take(self, cache: Cache[Separated], change: Change[Separated] | None) -> None:
        """Take in a change of a node's ConfigMap, with the same care as one of a node (``_note``)."""
        name = None if change is None else change.now.node
        if change is None or name is None:
            return
        if change.how is not How.GONE:
            self._by_node[name] = cache.items.get(change.now.uid, change.now)
        elif (known := self._by_node.get(name)) is not None and known.uid == change.now.uid:
            del self._by_node[name]
        if name in self._known:
            self._roll.put(self._status(self._known[name]))

    def _note(self, change: Change[Node] | None) -> None:
        """Take in a change of a node; the end of one that was made anew under its name meanwhile is not its end.

        What a list brought is told node by node, and a write of ours may have been answered since it was read.
        """
        if change is None:
            return
        node = self._cache.items.get(change.now.uid, change.now)
        if change.how is not How.GONE:
            self._known[node.name] = node
            self._roll.put(self._status(node))
        elif (known := self._known.get(node.name)) is not None and known.uid == node.uid:
            del self._known[node.name]
            self._roll.drop(node.name)

    def _status(self, node: Node) -> NodeStatus:
        kept = self._by_node.get(node.name)
        return NodeStatus(
            name=node.name,
            ready=node.ready,
            group=node.group,
            mark=mark_of(node),
            withholds=node.withholds or kept is not None,
            withheld=withheld_of(node, kept),
        )

    async def _yield_to_hand(self, node: Node) -> None:
        """Take our leftovers off; if that fails now, the node's next change, minutes away at most, tries again."""

        def change(source: JsonObject) -> JsonObject | None:
            return released(source, by_hand_at=self._now()) if left_over(node_of(source)) else None

        ref = ObjectRef("v1", "Node", "", node.name, node.uid)
        with suppress(Transient, Missing):
            await self._client.edit(ref, change, why="somebody uncordoned it by hand")

    async def _edit(self, node: NodeName, change: Callable[[JsonObject], JsonObject | None], *, why: str) -> None:
        ref = ObjectRef("v1", "Node", "", node, ObjectUid(""))
        try:
            self._note(self._cache.learn(await self._client.edit(ref, change, why=why)))
        except Missing as gone:
            raise Permanent(f"{node} is none of the {len(self._cache.items)} nodes of this cluster") from gone
