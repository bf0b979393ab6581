"""Jobs, and one job: its event list, incidents to scale, steps, ranks, and what a person may do to it."""

from typing import Annotated

from fastapi import Form, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from keepstep.console.context import COUNTED, Admin, Here, Operator, Viewer
from keepstep.console.pages.asked import After, Text, filled
from keepstep.console.pages.drawing.bars import Drawn, drawn
from keepstep.console.pages.drawing.curves import curves
from keepstep.console.pages.drawing.ranks import SIGNS, tally
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page
from keepstep.console.pages.telling import Done, back_to, told
from keepstep.console.views import IncidentRow
from keepstep.contracts.ids import JobUid
from keepstep.core.job_now import ENDED, JobState

router = pages()


@router.get("/jobs")
async def jobs(
    request: Request, here: Here, user: Viewer, *, state: Text = "", text: Text = "", after: After = "", done: Text = ""
) -> Response:
    """List jobs, newest first."""
    start = JobUid(after) if after else None
    listing = here.board.jobs(here.now(), state=filled(state), text=filled(text), after=start)
    return page(
        request, user, "jobs.html", follow=Follow(progress=True), listing=listing, states=tuple(JobState),
        done=told(done), state=state, text=text,
    )  # fmt: skip


@router.get("/jobs/{job:path}")
async def job(request: Request, here: Here, user: Viewer, job: str, *, done: Text = "") -> Response:
    """Show one job."""
    found = here.board.job(job, here.now())
    if found is None:
        raise HTTPException(404, f"there is no job {job}")
    return page(
        request, user, "job.html", follow=Follow(job=found.ref.uid, progress=True), job=found, done=told(done),
        ended=found.state in ENDED, timelines=[_timeline(here, row) for row in found.incident_rows],
        curves=curves(found.points, found.incident_rows), tally=tally(found.grid), signs=SIGNS,
    )  # fmt: skip


def _timeline(here: Here, row: IncidentRow) -> tuple[IncidentRow, Drawn | None]:
    """Return an incident with its timeline; None where its story is no longer kept."""
    incident = here.board.incident(row.incident)
    return row, None if incident is None else drawn(incident, here.now())


@router.post("/jobs/{job:path}/stop", dependencies=COUNTED)
async def stop(here: Here, user: Operator, job: str, reason: Annotated[str, Form(max_length=500)] = "") -> Response:
    """Stop a job for good."""
    await here.desk.stop(job, reason, user)
    return back_to("jobs", job, Done.STOPPING)


@router.post("/jobs/{job:path}/pause", dependencies=COUNTED)
async def pause(here: Here, user: Admin, job: str) -> Response:
    """Observe a job only."""
    await here.desk.pause(job, user)
    return back_to("jobs", job, Done.PAUSING)


@router.post("/jobs/{job:path}/resume", dependencies=COUNTED)
async def resume(here: Here, user: Admin, job: str) -> Response:
    """Act on the job's faults again."""
    await here.desk.resume(job, user)
    return back_to("jobs", job, Done.RESUMING)
