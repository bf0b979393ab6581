"""Stories of one job from its creation to its end, told to a world; what happens does not depend on the services."""

import asyncio
from collections.abc import Awaitable, Callable

from keepstep.contracts.events import (
    DeadlinePassed,
    FoldRestated,
    IncidentClosed,
    JobDeleted,
    JobStarted,
    JobWaiting,
)
from keepstep.contracts.ids import EventId, JobUid, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import JobRef, JobSpec, Script
from keepstep.runtime.restating import WHAT
from tests.pipeline.hands import POOL
from tests.pipeline.loop import LoopClock
from tests.pipeline.world import World

JOB = JobRef(name="main", uid=JobUid("job-1"))
SPEC = JobSpec(name="main", entrypoint=Script(path="/train.py"), nodes=2, nproc=2, checkpoint_dir="/ckpt")
QUIET_S = 0.5
"""Between two chapters."""

Harm = Callable[[World], Awaitable[None]]


async def kill_rank_3(world: World) -> None:
    """SIGKILL one rank."""
    world.cluster.agent_of(3).end_rank(3, Exit(signal=9))


async def kill_two_ranks(world: World) -> None:
    """One cause, two victims on two nodes."""
    await kill_rank_3(world)
    await asyncio.sleep(0.05)
    world.cluster.agent_of(0).end_rank(0, Exit(code=1))


async def kill_a_new_rank_too(world: World) -> None:
    """A rank of the next generation is killed before it made a step."""
    await kill_rank_3(world)
    await world.until(lambda: len(world.cluster.running()) == 4 and world.cluster.running()[0].generation == 2)
    world.cluster.agent_of(0).end_rank(0, Exit(signal=9))


async def lose_the_second_node(world: World) -> None:
    """A machine with two ranks is gone; there is a spare."""
    world.cluster.lose(world.cluster.agent_of(3).node)


async def lose_both_spares(world: World) -> None:
    """A machine with two ranks is gone and there is no other, until it comes back."""
    world.cluster.lose(NodeName("n3"))
    lost = world.cluster.agent_of(3).node
    world.cluster.lose(lost)
    await world.until(lambda: bool(world.said(JobWaiting)))
    await asyncio.sleep(QUIET_S)
    world.cluster.known[lost].ready = True


async def cut_off_the_second_agent(world: World) -> None:
    """A machine is out of reach with ranks that go on: nobody hears of it and no plan reaches it."""
    world.cluster.agent_of(3).cut_off()


async def delete_the_first_task(world: World) -> None:
    """Somebody deletes the task with rank 0."""
    world.cluster.agent_of(0).die(LossCause.DELETED)


async def tell(world: World, harm: Harm) -> World:
    """Create the job, harm it once it runs, and let it end well when it stepped again; return at rest."""
    async with world.serving():
        await begin(world)
        await end(world, harm)
        await asyncio.sleep(world.days_s)
    return world


async def begin(world: World) -> None:
    """Create the job and let it run for a while and save a checkpoint."""
    world.stream.publish(CreateJob(id=EventId("create"), time=LoopClock().now(), pool=POOL, job=JOB, spec=SPEC))
    await world.until(lambda: bool(world.said(JobStarted)))
    await asyncio.sleep(QUIET_S)
    world.cluster.agent_of(0).save_checkpoint()
    await asyncio.sleep(QUIET_S)


async def end(world: World, harm: Harm) -> None:
    """Harm the job, and let it end well when it stepped again; return at rest."""
    closed = len(world.said(IncidentClosed))
    await harm(world)
    await world.until(lambda: len(world.said(IncidentClosed)) > closed)
    await asyncio.sleep(QUIET_S)
    for rank in world.cluster.running():
        world.cluster.agent_of(rank.rank).end_rank(rank.rank, Exit(code=0))
    await world.until(lambda: bool(world.said(JobDeleted)))
    await _rest(world)


async def _rest(world: World) -> None:
    """Return when nothing was said for longer than anybody is away or an isolated node that is back is looked at."""
    away = max((strike.down_s for strike in world.strikes), default=0.0)
    seen = -1
    while seen != (said := sum(not _is_daily(message) for message in world.stream.said)):
        seen = said
        await asyncio.sleep(70 if world.cluster.marked() and not world.cluster.lost() else away + 4)


def _is_daily(message: Message) -> bool:
    """Tell whether it is said of every fold every day, whatever happens."""
    return isinstance(message, FoldRestated) or (isinstance(message, DeadlinePassed) and message.what == WHAT)
