"""``keepstep up``: keeps the embedded stack and its local nodes running until a signal."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.local_nodes import LocalNodes
from keepstep.cli import places
from keepstep.cli.errors import Failed
from keepstep.cli.signals import Interruptions
from keepstep.cli.stack import embedded
from keepstep.contracts.ids import Pool


@dataclass(frozen=True)
class Plan:
    """What is to run, and where."""

    folder: Path
    pool: Pool
    port: int
    nodes: int


async def stay_up(plan: Plan) -> None:
    """Run the stack until the first SIGINT, SIGTERM or SIGHUP; raises Failed if it cannot start or breaks."""
    interruptions = Interruptions()
    interruptions.listen()
    places.make(plan.folder)
    async with embedded(plan.folder, pool=plan.pool, port=plan.port) as stack:
        os.environ["KEEPSTEP_NATS_URL"] = stack.address.url.get_secret_value()
        os.environ["KEEPSTEP_POOL"] = plan.pool
        nodes = LocalNodes(stack.address.cluster)
        try:
            await asyncio.to_thread(nodes.start_all, [f"n{number}" for number in range(1, plan.nodes + 1)])
            sys.stdout.write(f"keepstep is up in {plan.folder}; Ctrl-C stops it\n")
            sys.stdout.flush()
            asked = asyncio.ensure_future(interruptions.first.wait())
            await asyncio.wait({asked, stack.broken}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise Failed(f"the services ended: {stack.broken.exception() or 'without a reason'}")
        finally:
            await asyncio.to_thread(nodes.stop_all)
