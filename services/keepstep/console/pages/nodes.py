"""Nodes, and one node: isolations, faults, whom it would hurt, and the orders to isolate, drain and release it."""

from typing import Annotated

from fastapi import Form, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from keepstep.console.context import COUNTED, Here, Operator, Viewer
from keepstep.console.pages.asked import After, Text
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page
from keepstep.console.pages.telling import Done, back_to, told
from keepstep.core.node_standing import NodeState

router = pages()
Reason = Annotated[str, Form(max_length=500)]
STATES = (NodeState.READY, NodeState.ISOLATED, NodeState.LOST, NodeState.UNKNOWN)
SHOWN = 200


@router.get("/nodes")
async def nodes(
    request: Request, here: Here, user: Viewer, *, state: Text = "", text: Text = "", after: After = ""
) -> Response:
    """List nodes by name."""
    rows = [
        row
        for row in here.board.nodes()
        if (not state or state in row.states) and text.casefold().strip() in row.node.casefold()
    ]
    left = [row for row in rows if row.node > after] if after else rows
    shown, more = left[:SHOWN], left[SHOWN - 1].node if len(left) > SHOWN else None
    return page(
        request, user, "nodes.html", follow=Follow(), rows=shown, total=len(rows), more=more, states=STATES,
        state=state, text=text,
    )  # fmt: skip


@router.get("/nodes/{node:path}")
async def node(request: Request, here: Here, user: Viewer, node: str, *, done: Text = "") -> Response:
    """Show one node."""
    found = here.board.node(node)
    if found is None:
        raise HTTPException(404, f"there is no node {node}")
    return page(request, user, "node.html", follow=Follow(), node=found, done=told(done))


@router.post("/nodes/{node:path}/isolate", dependencies=COUNTED)
async def isolate(here: Here, user: Operator, node: str, reason: Reason = "") -> Response:
    """Keep new tasks off a node."""
    await here.desk.isolate(node, reason, user)
    return back_to("nodes", node, Done.ISOLATING)


@router.post("/nodes/{node:path}/drain", dependencies=COUNTED)
async def drain(here: Here, user: Operator, node: str, reason: Reason = "") -> Response:
    """Keep new tasks off a node and move the jobs' tasks away."""
    await here.desk.drain(node, reason, user)
    return back_to("nodes", node, Done.DRAINING)


@router.post("/nodes/{node:path}/release", dependencies=COUNTED)
async def release(here: Here, user: Operator, node: str, reason: Reason = "") -> Response:
    """Let tasks on a node again."""
    await here.desk.release(node, reason, user)
    return back_to("nodes", node, Done.RELEASING)
