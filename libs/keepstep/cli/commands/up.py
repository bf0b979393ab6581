"""``keepstep up``: the embedded stack for several runs, until Ctrl-C."""

import asyncio
from typing import Annotated

import typer

from keepstep.cli.last_resort import last_resort
from keepstep.cli.options import Data, application
from keepstep.cli.places import DEFAULT_POOL, data_folder
from keepstep.cli.up import Plan, stay_up
from keepstep.runtime.settled import settle
from keepstep.trainer.system import ahead

app = application()


@app.command()
def up(
    data: Data = None,
    port: Annotated[int, typer.Option(help="of console, /healthz and /metrics on loopback; 0: a free one")] = 8700,
    nodes: Annotated[int, typer.Option(min=0, help="local nodes for keepstep job create")] = 0,
) -> None:
    """Run the embedded stack: NATS, the six services, the console and, if asked, local nodes. Ctrl-C stops it."""
    plan = Plan(folder=data_folder(data), pool=DEFAULT_POOL, port=port, nodes=nodes)
    settle()
    with ahead(), last_resort() as closing:
        asyncio.run(stay_up(plan, closing))
