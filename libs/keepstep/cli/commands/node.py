"""``keepstep node``: which nodes there are, and keeping jobs off them by hand."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.asking.room import no_room
from keepstep.cli import history
from keepstep.cli.errors import Failed
from keepstep.cli.jobs import fold
from keepstep.cli.nodes import ListedNode, listed_nodes, listed_of
from keepstep.cli.on_cluster import Cluster, cluster_node_names, named, needs_bus
from keepstep.cli.options import AsJson, Data, JobOption, Reason, application, emit, listing, note, write
from keepstep.cli.places import StackAddress, cluster_of, data_folder
from keepstep.cli.say import give, order
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Order
from keepstep.contracts.orders import DrainNode, IsolateNode, ReleaseNode
from keepstep.core.known_job import KnownJob

app = application()
ASKED: dict[type[Order], str] = {IsolateNode: "isolate", ReleaseNode: "release", DrainNode: "drain"}
MOST_NAMED = 20
"""Nodes that a refusal lists."""
Name = Annotated[str, typer.Argument(help="the node's name; keepstep node list shows them")]


@app.command("list")
def list_nodes(job: JobOption = None, json: AsJson = False, data: Data = None, cluster: Cluster = None) -> None:
    """List the nodes with who keeps them from jobs and why; after a run, how it left them."""
    if (where := named(cluster)) is not None:
        found = asyncio.run(listed_of(where))
    else:
        folder, ended = history.nodes_of(data_folder(data), job)
        found = asyncio.run(listed_nodes(folder, ended=ended is not None))
        note(ended)
    if json:
        emit([node.as_object() for node in found])
        return
    listing(("NODE", "STATE", "GROUP", "TASKS", "KEPT FROM JOBS BY"), [_row(node) for node in found])


def _row(node: ListedNode) -> tuple[str, ...]:
    status = node.status
    return status.name, node.state, status.group or "-", str(len(status.tasks)), node.kept_by


@app.command()
def isolate(node: Name, reason: Reason, job: JobOption = None, data: Data = None, cluster: Cluster = None) -> None:
    """Keep new tasks off a node; what runs there goes on."""
    asyncio.run(_order(IsolateNode, node, reason, _From(data_folder(data), job, needs_bus(cluster))))


@app.command()
def release(node: Name, reason: Reason = "", job: JobOption = None, data: Data = None, cluster: Cluster = None) -> None:
    """Let tasks on a node again that keepstep isolated."""
    asyncio.run(_order(ReleaseNode, node, reason, _From(data_folder(data), job, needs_bus(cluster))))


@app.command()
def drain(node: Name, reason: Reason, job: JobOption = None, data: Data = None, cluster: Cluster = None) -> None:
    """Keep new tasks off a node and move its tasks away."""
    asyncio.run(_drain(node, reason, _From(data_folder(data), job, needs_bus(cluster))))


@dataclass(frozen=True)
class _From:
    """Where the order is given: the folder and job that name a stack, and the Kubernetes that has the nodes, if any."""

    data: Path
    job: str | None
    cluster: str | None


async def _order(kind: type[Order], node: str, reason: str, at: _From) -> None:
    from keepstep.cli.connect import joined  # noqa: PLC0415 - 0.2 s that a listing does not need

    async with joined(at.data, at.job) as (client, where):
        known = await _names(at.cluster, where)
        if node not in known:
            raise Failed(f"there is no node {node}; {_there_are(known)}")
        await give(client, order(kind, where.pool, node=NodeName(node), reason=reason))
    write(f"asked to {ASKED[kind]} node {node}{f': {reason}' if reason else ''}")


async def _names(cluster: str | None, where: StackAddress) -> Sequence[NodeName]:
    if cluster is not None:
        return await cluster_node_names(cluster)
    return [one.name for one in await LocalCluster(cluster_of(where)).nodes()]


def _there_are(known: Sequence[NodeName]) -> str:
    if len(known) > MOST_NAMED:
        return f"there are {len(known)} nodes: keepstep node list shows them"
    return f"there are {', '.join(known) or 'none'}"


async def _drain(node: str, reason: str, at: _From) -> None:
    """Fence the node first, then ask each job that has a task there to move it."""
    from keepstep.cli.connect import joined  # noqa: PLC0415 - as above

    await _order(DrainNode, node, reason, at)
    async with joined(at.data, at.job) as (client, where):
        if at.cluster is None:
            for caution in no_room(await LocalCluster(cluster_of(where)).nodes(), NodeName(node)):
                note(caution)
        for known in await fold(history.said(history.Running(where))):
            if not known.ended and any(placed.node == node for placed in known.view.placement):
                await give(client, order(DrainNode, where.pool, job=known.ref, node=NodeName(node), reason=reason))
                write(f"job {known.ref.name} is asked to move its task off {node}{_when(known)}")


def _when(job: KnownJob) -> str:
    """Return when it will, as far as that is known here."""
    if job.spec is None or job.spec.checkpoint_dir is None:
        return ""
    return f", after its next checkpoint or {job.spec.policy.recovery.drain_wait.total_seconds():g} s"
