"""``keepstep node``: which nodes there are, and keeping jobs off them by hand."""

import asyncio
import dataclasses
from typing import Annotated

import typer

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.cli import history, show
from keepstep.cli.errors import Failed
from keepstep.cli.jobs import jobs_of
from keepstep.cli.options import AsJson, Data, JobOption, Reason, application, emit, write
from keepstep.cli.places import data_folder
from keepstep.cli.say import order
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Order
from keepstep.contracts.orders import DrainNode, IsolateNode, ReleaseNode
from keepstep.ports.cluster import NodeStatus

app = application()
ASKED: dict[type[Order], str] = {IsolateNode: "isolate", ReleaseNode: "release", DrainNode: "drain"}
Name = Annotated[str, typer.Argument(help="the node's name; keepstep node list shows them")]


@app.command("list")
def list_nodes(job: JobOption = None, json: AsJson = False, data: Data = None) -> None:
    """List the nodes with who keeps them from jobs and why."""
    found = asyncio.run(LocalCluster(history.cluster(data_folder(data), job)).nodes())
    if json:
        emit([_object(node) for node in found])
        return
    rows = [(node.name, _state(node), node.group or "-", str(len(node.tasks)), _mark(node)) for node in found]
    write(show.table(("NODE", "STATE", "GROUP", "TASKS", "KEPT FROM JOBS BY"), rows))


def _object(node: NodeStatus) -> dict[str, object]:
    mark = None if node.mark is None else dataclasses.asdict(node.mark) | {"at": node.mark.at.isoformat()}
    return dataclasses.asdict(node) | {"mark": mark}


def _state(node: NodeStatus) -> str:
    return "lost" if not node.ready else "isolated" if node.mark is not None else "ready"


def _mark(node: NodeStatus) -> str:
    return "-" if node.mark is None else f"{node.mark.owner}: {node.mark.reason}"


@app.command()
def isolate(node: Name, reason: Reason, job: JobOption = None, data: Data = None) -> None:
    """Keep new tasks off a node; what runs there goes on."""
    asyncio.run(_order(IsolateNode, node, reason, job, data))


@app.command()
def release(node: Name, reason: Reason = "", job: JobOption = None, data: Data = None) -> None:
    """Let tasks on a node again that keepstep isolated."""
    asyncio.run(_order(ReleaseNode, node, reason, job, data))


@app.command()
def drain(node: Name, reason: Reason, job: JobOption = None, data: Data = None) -> None:
    """Keep new tasks off a node and move its tasks away."""
    asyncio.run(_drain(node, reason, job, data))


async def _order(kind: type[Order], node: str, reason: str, job: str | None, data: Data) -> None:
    folder = data_folder(data)
    async with history.joined(folder, job) as (client, where):
        known = [one.name for one in await LocalCluster(history.cluster(folder, job)).nodes()]
        if node not in known:
            raise Failed(f"there is no node {node}; there are {', '.join(known) or 'none'}")
        await client.say(order(kind, where.pool, node=NodeName(node), reason=reason))
    write(f"asked to {ASKED[kind]} node {node}{f': {reason}' if reason else ''}")


async def _drain(node: str, reason: str, job: str | None, data: Data) -> None:
    """Fence the node first, then ask each job that has a task there to move it."""
    await _order(DrainNode, node, reason, job, data)
    async with history.joined(data_folder(data), job) as (client, where):
        for known in await jobs_of(client):
            if not known.ended and any(placed.node == node for placed in known.view.placement):
                await client.say(order(DrainNode, where.pool, job=known.ref, node=NodeName(node), reason=reason))
