"""Faults of tasks and nodes of a local cluster, injected on purpose; those of ranks go through the progress page."""

from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from keepstep.adapters.local_cluster import ANSWER_LIMIT_S, LocalCluster
from keepstep.adapters.local_files import NodeFolder, folders
from keepstep.adapters.local_nodes import lose
from keepstep.adapters.local_wire import Child, KillChild, Refused, ask
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.errors import Permanent

GRACE = timedelta(seconds=5)
"""A pod that is deleted by hand gets 30 s by default; nobody who injects a fault wants to wait for that."""


class TaskFault(StrEnum):
    """What can happen to a task."""

    POD_DELETE = "pod-delete"
    EVICT = "evict"
    AGENT_KILL = "agent-kill"
    LAUNCHER_KILL = "launcher-kill"


def task_dir(cluster: Path, task: TaskUid) -> Path:
    """Return the folder of a task; raises Permanent if no node has it."""
    return _folder_of(cluster, task).task(task)


async def hurt_task(cluster: Path, task: TaskUid, fault: TaskFault) -> None:
    """Do this to a task; raises Permanent if it is not there and Transient if its node does not answer."""
    folder = _folder_of(cluster, task)
    match fault:
        case TaskFault.POD_DELETE:
            await LocalCluster(cluster).end(task, grace=GRACE, by=LossCause.DELETED)
        case TaskFault.EVICT:
            await LocalCluster(cluster).end(task, grace=GRACE, by=LossCause.EVICTED)
        case TaskFault.AGENT_KILL:
            await _kill(folder, task, Child.AGENT)
        case TaskFault.LAUNCHER_KILL:
            await _kill(folder, task, Child.LAUNCHER)
        case _:
            assert_never(fault)


def lose_node(cluster: Path, node: NodeName) -> None:
    """Take a node away at once, with everything on it; raises Permanent if there is none of this name."""
    found = [folder for folder in folders(cluster.resolve()) if folder.name == node]
    if not found:
        raise Permanent(f"there is no node {node} in {cluster}")
    lose(found[0])


async def _kill(folder: NodeFolder, task: TaskUid, child: Child) -> None:
    reply = await ask(folder.socket, KillChild(task=task, child=child), limit_s=ANSWER_LIMIT_S)
    if isinstance(reply, Refused):
        raise Permanent(reply.why)


def _folder_of(cluster: Path, task: TaskUid) -> NodeFolder:
    for folder in folders(cluster.resolve()):
        if (folder.task(task) / "status.json").exists():
            return folder
    raise Permanent(f"no node in {cluster} has task {task}")
