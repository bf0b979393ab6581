"""Stories of one job from its creation to its end, told to a world; what happens does not depend on the services."""

import asyncio
from collections.abc import Callable

from keepstep.contracts.events import IncidentClosed, JobDeleted, JobStarted
from keepstep.contracts.ids import EventId, JobUid
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import JobRef, JobSpec, Script
from tests.pipeline.hands import POOL
from tests.pipeline.loop import LoopClock
from tests.pipeline.world import World

JOB = JobRef(name="main", uid=JobUid("job-1"))
SPEC = JobSpec(name="main", entrypoint=Script(path="/train.py"), nodes=2, nproc=2, checkpoint_dir="/ckpt")
QUIET_S = 0.5
"""Between two chapters."""

Harm = Callable[[World], None]


def kill_rank_3(world: World) -> None:
    """SIGKILL one rank."""
    world.cluster.agent_of(3).end_rank(3, Exit(signal=9))


def lose_the_second_node(world: World) -> None:
    """A machine with two ranks is gone; there is a spare."""
    world.cluster.lose(world.cluster.agent_of(3).node)


def delete_the_first_task(world: World) -> None:
    """Somebody deletes the task with rank 0."""
    world.cluster.agent_of(0).die(LossCause.DELETED)


def kill_two_ranks(world: World) -> None:
    """One cause, two victims on two nodes."""
    world.cluster.agent_of(3).end_rank(3, Exit(signal=9))
    asyncio.get_running_loop().call_later(0.05, lambda: world.cluster.agent_of(0).end_rank(0, Exit(code=1)))


async def tell(world: World, harm: Harm) -> World:
    """Create the job, harm it once it runs, and let it end well when it stepped again; return at rest."""
    async with world.serving():
        world.stream.publish(CreateJob(id=EventId("create"), time=LoopClock().now(), pool=POOL, job=JOB, spec=SPEC))
        await world.until(lambda: bool(world.said(JobStarted)))
        await asyncio.sleep(QUIET_S)
        world.cluster.agent_of(0).save_checkpoint()
        await asyncio.sleep(QUIET_S)
        harm(world)
        await world.until(lambda: bool(world.said(IncidentClosed)))
        await asyncio.sleep(QUIET_S)
        for rank in world.cluster.running():
            world.cluster.agent_of(rank.rank).end_rank(rank.rank, Exit(code=0))
        await world.until(lambda: bool(world.said(JobDeleted)))
        await _rest(world)
    return world


async def _rest(world: World) -> None:
    """Return when nothing was said for a while."""
    seen = -1
    while seen != len(world.stream.stored):
        seen = len(world.stream.stored)
        await asyncio.sleep(4)
