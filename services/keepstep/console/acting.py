"""``/api/v1``: what can be ordered and reported. Every order is said once, under the name of who gave it."""

from collections.abc import Sequence

from fastapi import APIRouter, HTTPException
from pydantic import Field
from starlette.responses import Response

from keepstep.console.answers import Plain
from keepstep.console.asked import Checked, JobAsked
from keepstep.console.context import COUNTED, Admin, Here, Operator
from keepstep.console.desk import Asked
from keepstep.console.public_faults import Intake, PublicFaults, TooMany, taken
from keepstep.contracts.events import PublicFaultReported
from keepstep.contracts.model import Frozen, Strict
from keepstep.runtime.log import logger

router = APIRouter(dependencies=COUNTED)


class Why(Strict):
    """The reason of an order, for those who read it later."""

    reason: str = Field(min_length=1, max_length=500)


class Taken(Frozen):
    """What became of a report."""

    taken: int
    """Events that the stream has now, nodes and devices counted one by one."""
    dropped: tuple[str, ...] = ()
    """What was not taken, and why."""


class HalfTaken(Taken):
    """What became of a report of which the bus took a part in time, or nothing."""

    detail: str
    left: int
    """Events that are to be sent again."""
    faults: tuple[str, ...]
    """The faultId of each fault of which something is left."""


@router.post("/nodes/{node}/isolate", status_code=202)
async def isolate(here: Here, user: Operator, node: str, why: Why) -> Asked:
    """Keep new tasks off a node; what runs there goes on."""
    return await here.desk.isolate(node, why.reason, user)


@router.post("/nodes/{node}/drain", status_code=202)
async def drain(here: Here, user: Operator, node: str, why: Why) -> Asked:
    """Keep new tasks off a node and move the jobs' tasks away."""
    return await here.desk.drain(node, why.reason, user)


@router.post("/nodes/{node}/release", status_code=202)
async def release(here: Here, user: Operator, node: str, why: Why) -> Asked:
    """Let tasks on a node again that keepstep isolated."""
    return await here.desk.release(node, why.reason, user)


@router.post("/incidents/{incident}/ack", status_code=202)
async def acknowledge(here: Here, user: Operator, incident: str) -> Asked:
    """Say that you look after the incident."""
    return await here.desk.acknowledge(incident, user)


@router.post("/jobs", status_code=202)
async def create(here: Here, user: Operator, asked: JobAsked, check: bool = False) -> Asked | Checked:
    """Create a job; with `check` only say what would be created, and what to be careful about."""
    return here.desk.check(asked) if check else await here.desk.create(asked, user)


@router.post("/jobs/{job}/stop", status_code=202)
async def stop(here: Here, user: Operator, job: str, why: Why) -> Asked:
    """Stop a job for good."""
    return await here.desk.stop(job, why.reason, user)


@router.post("/jobs/{job}/pause", status_code=202)
async def pause(here: Here, user: Admin, job: str) -> Asked:
    """Observe a job only, act on nothing."""
    return await here.desk.pause(job, user)


@router.post("/jobs/{job}/resume", status_code=202)
async def resume(here: Here, user: Admin, job: str) -> Asked:
    """Act on the job's faults again."""
    return await here.desk.resume(job, user)


@router.post("/public-faults", status_code=202, response_model=Taken, responses={503: {"model": HalfTaken}})
async def report(here: Here, user: Operator, report: PublicFaults) -> Taken | Response:
    """Report faults in MindCluster's form; the same report again changes nothing, and adds what was left of it."""
    try:
        found = taken(
            report, here.live.client.pool, senders=here.settings.console_senders, codes=here.codes, now=here.now()
        )
    except TooMany as error:
        raise HTTPException(413, str(error)) from error
    for why in found.dropped:
        logger("console").warning("a public fault was dropped", report=report.id, by=user.name, because=why)
    left = await here.desk.report(found.said)
    if left:
        return Plain(_half(found, left).model_dump(), 503, {"Retry-After": "1"})
    return Taken(taken=len(found.said), dropped=found.dropped)


def _half(found: Intake, left: Sequence[PublicFaultReported]) -> HalfTaken:
    faults = tuple(dict.fromkeys(found.fault_of[event.id] for event in left))
    done = len(found.said) - len(left)
    why = (
        f"the bus took {done} of {len(found.said)} events in time; send the report again: what was taken is not taken"
        " twice, and faults names those of which something is left"
    )
    return HalfTaken(taken=done, dropped=found.dropped, detail=why, left=len(left), faults=faults)
