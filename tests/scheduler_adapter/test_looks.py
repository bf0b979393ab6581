"""A restart that waits costs next to nothing, and what changes of it is looked at as soon as it is seen."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from keepstep.contracts.events import TaskReleased
from keepstep.contracts.ids import EventId, IncidentId, JobUid, TaskUid
from keepstep.contracts.taxonomy import Level
from keepstep.ports.controllers import Listing, RestartOrder, RestartReport, Sighting
from keepstep.scheduler_adapter.core.restarts import RestartTasks, Standing
from keepstep.scheduler_adapter.core.state import JobState
from keepstep.scheduler_adapter.core.task import Leaving
from keepstep.scheduler_adapter.hand import Hand
from keepstep.scheduler_adapter.settings import Settings
from tests.scheduler_adapter.room import Room
from tests.scheduler_adapter.voices import JOB, POOL
from tests.scheduler_adapter.world import World

LIMIT_S = 10
PACE = Settings(gone_every=timedelta(milliseconds=1), gone_longest=timedelta(hours=1), order_every=timedelta(hours=1))


class Gang:
    """A job whose new pods do not come until they are let, and whose words tell how long that has been."""

    def __init__(self) -> None:
        self.looks: list[RestartOrder] = []
        self.seen: asyncio.Queue[str] = asyncio.Queue()
        self.gone: dict[TaskUid, bool] = {}
        self.runs = False

    async def any(self, *, within: timedelta) -> bool:
        try:
            await asyncio.wait_for(self.seen.get(), within.total_seconds())
        except TimeoutError:
            return False
        return True

    @contextmanager
    def watching(self, job: JobUid) -> Iterator["Gang"]:  # noqa: ARG002 - there is one job
        yield self

    async def restart(self, order: RestartOrder) -> RestartReport:
        self.looks.append(order)
        words = f"1 of 2 pods run after {len(self.looks)} ms"
        return RestartReport(words, dict(self.gone), done=self.runs)

    async def jobs(self) -> Listing:
        return Listing(frozenset())

    def sightings(self) -> AsyncIterator[Sighting]:
        raise AssertionError("a restart looks for no jobs")

    async def end(
        self, job: JobUid, tasks: frozenset[TaskUid], *, succeeded: bool, refused: bool = False
    ) -> Mapping[TaskUid, bool]:
        raise AssertionError((job, tasks, succeeded, refused))


def restart(state: JobState) -> RestartTasks:
    return RestartTasks(
        pool=POOL,
        job=JOB,
        incident=IncidentId("i"),
        cause=EventId("c"),
        attempt=1,
        level=Level.POD,
        generation=1,
        to_generation=2,
        lost=(Standing(ref=state.tasks["worker-1"].ref),),
        avoid=(),
    )


async def until(gang: Gang, looks: int) -> None:
    """Return once there were so many looks."""
    async with asyncio.timeout(LIMIT_S):
        while len(gang.looks) < looks:  # noqa: ASYNC110 - a list tells nobody
            await asyncio.sleep(0.001)


async def test_a_restart_of_which_nothing_changes_is_looked_at_ever_more_seldom() -> None:
    """200 of them were looked at 20 times a second each: their words tell the time, which was taken for a change."""
    room, gang = Room(World().run().fold), Gang()
    assert room.state is not None
    pursuing = asyncio.create_task(Hand(room.cluster, room.context, PACE, controllers=gang).do(restart(room.state)))
    began = asyncio.get_running_loop().time()
    await until(gang, 9)
    looks, took_s = len(gang.looks), asyncio.get_running_loop().time() - began
    assert took_s > 0.2, "1 ms of rest and 1, 2, 4 ... 128 ms of waiting; a busy machine only makes it longer"
    gang.gone[room.state.tasks["worker-1"].ref.uid] = True
    gang.seen.put_nowait("deleted")
    await until(gang, looks + 1)
    assert [type(message) for message in room.said] == [TaskReleased]
    gang.runs = True
    gang.seen.put_nowait("runs")
    assert await asyncio.wait_for(pursuing, LIMIT_S) == ()


async def test_what_is_ordered_of_a_restart_is_looked_at_as_soon_as_its_fold_asks_for_more() -> None:
    """That the last rank there is dead is known to the fold and to nothing of the cluster."""
    room, gang = Room(World().run().fold), Gang()
    assert room.state is not None
    pace = PACE.model_copy(update={"order_every": timedelta(milliseconds=5), "gone_every": timedelta(milliseconds=50)})
    pursuing = asyncio.create_task(Hand(room.cluster, room.context, pace, controllers=gang).do(restart(room.state)))
    await until(gang, 1)
    ref = room.state.tasks["worker-1"].ref
    room.state = room.state.model_copy(update={"leaving": (Leaving(ref=ref, node=None, ran=1, gone=True),)})
    async with asyncio.timeout(LIMIT_S):
        while not gang.looks[-1].safe:  # noqa: ASYNC110 - a list tells nobody
            await asyncio.sleep(0.001)
    assert gang.looks[-1].safe == {ref.uid}
    assert len(gang.looks) <= 4
    pursuing.cancel()
