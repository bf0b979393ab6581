"""``keepstep report``: one run in one file, to keep and to hand on."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from keepstep.asking.paths import resolved
from keepstep.cli.on_cluster import Cluster, needs_bus
from keepstep.cli.options import Data, JobOption, application, write
from keepstep.cli.places import data_folder
from keepstep.cli.report.gather import gather
from keepstep.cli.report.markdown import document
from keepstep.cli.report.page import page

app = application()


class Format(StrEnum):
    """What the file is."""

    HTML = "html"
    MARKDOWN = "md"


@app.command()
def report(
    *,
    job: JobOption = None,
    form: Annotated[Format, typer.Option("--format", help="what the file is")] = Format.HTML,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="the file; default JOB-report.html, or .md; - prints it")
    ] = None,
    losses: Annotated[
        Path | None, typer.Option("--losses", help="JSON lines with step and loss that the script wrote, to be plotted")
    ] = None,
    data: Data = None,
    cluster: Cluster = None,
) -> None:
    """Write a report of a run: timeline, incidents, effective training time, lost time by stage, evidence.

    Of a job that runs, as it is now; of one that ended, from what its stack or run has left. Without --job the newest.
    """
    needs_bus(cluster)
    run = asyncio.run(gather(data_folder(data), job, losses=losses))
    text = page(run) if form is Format.HTML else document(run)
    if out == Path("-"):
        write(text.rstrip("\n"))
        return
    path = resolved(out or Path(f"{run.job.ref.name.replace('/', '-')}-report.{form}"))
    path.write_text(text, encoding="utf-8", errors="replace")
    write(f"wrote {path}")
