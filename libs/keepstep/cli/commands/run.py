"""``keepstep run``: a job on this machine under fault tolerance; live progress; exits as the job does."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from keepstep.asking import policy_file
from keepstep.asking.specification import specify
from keepstep.cli.cautioning import caution
from keepstep.cli.last_resort import last_resort
from keepstep.cli.options import Data, application
from keepstep.cli.places import data_folder
from keepstep.cli.run import Request, run_job
from keepstep.cli.screen import screen
from keepstep.cli.screen_aside import Aside
from keepstep.trainer.system import ahead

app = application()


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    script: Annotated[
        list[str] | None, typer.Argument(help="a .py file, -m module, or any command, after --, with its arguments")
    ] = None,
    *,
    name: Annotated[str | None, typer.Option(help="the job's name; default: the script's")] = None,
    nodes: Annotated[int, typer.Option(help="local nodes that the job's tasks take")] = 2,
    nproc: Annotated[int, typer.Option(help="ranks per node")] = 2,
    spares: Annotated[int, typer.Option(min=0, help="nodes kept ready to replace a lost one")] = 0,
    policy: Annotated[Path | None, typer.Option(help="TOML or JSON file of limits, windows and budgets")] = None,
    checkpoint_dir: Annotated[Path | None, typer.Option(help="where the script writes its checkpoints")] = None,
    resume_arg: Annotated[
        str | None, typer.Option(help="argument added at a restart, as in --resume={path}; also {step}")
    ] = None,
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the ranks; may be repeated")] = None,
    output: Annotated[bool, typer.Option(help="show what rank 0 prints")] = True,
    data: Data = None,
) -> None:
    """Run a job on this machine under fault tolerance.

    The stack is private to the run unless ``keepstep up`` runs in the same --data folder. Ctrl-C stops the job
    cleanly, a second one at once. The exit code is the job's; 143 of one that ``keepstep job stop`` ended.
    """
    spec = specify(
        script or [],
        name=name,
        nodes=nodes,
        nproc=nproc,
        policy=policy_file.load(policy),
        checkpoint_dir=checkpoint_dir,
        resume_arg=resume_arg,
        env=env or [],
    )
    caution(spec.policy, here=True)
    with ahead():
        shown = Aside(screen())
        try:
            with last_resort() as closing:
                request = Request(spec=spec, spares=spares, data=data_folder(data), output=output)
                code = asyncio.run(run_job(request, shown, closing))
        finally:
            shown.close()
    raise typer.Exit(code)
