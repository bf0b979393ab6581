"""Whether a task that leaves a node would find another: told to who orders a drain, before the job waits for one."""

from collections.abc import Iterable

from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import NodeStatus


def no_room(nodes: Iterable[NodeStatus], leaving: NodeName) -> tuple[str, ...]:
    """Return a caution where no other node of the same group is ready, open and without a task; () where one is.

    A node that runs a task may still have room for one, as on a Kubernetes: then the job does not wait, and what is
    said of the others is true all the same.
    """
    known = {node.name: node for node in nodes}
    here = known.get(leaving)
    if here is None:
        return ()
    others = [node for node in known.values() if node.name != leaving and node.group == here.group]
    if not here.tasks or any(node.ready and node.mark is None and not node.tasks for node in others):
        return ()
    return (
        f"no other node is free: a job that must leave {leaving} stops and waits until one has room or {leaving} is "
        "released",
    )
