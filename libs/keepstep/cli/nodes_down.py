"""Taking the local nodes of a command down: in order, or at once when a person says so twice."""

import asyncio
from typing import Protocol

from keepstep.cli.signals import Interruptions


class Nodes(Protocol):
    """Nodes that this process started; both calls block until nothing of them runs."""

    def stop_all(self) -> None:
        """Stop them, each task within its grace."""

    def lose_all(self) -> None:
        """Kill them and everything on them."""


async def nodes_down(nodes: Nodes, interruptions: Interruptions) -> None:
    """Stop the nodes; from the second signal on, also one that came before, kill them whatever grace is left."""
    stopping = asyncio.ensure_future(asyncio.to_thread(nodes.stop_all))
    hurry = asyncio.ensure_future(interruptions.second.wait())
    await asyncio.wait({stopping, hurry}, return_when=asyncio.FIRST_COMPLETED)
    if not stopping.done():
        await asyncio.to_thread(nodes.lose_all)
    hurry.cancel()
    await stopping
