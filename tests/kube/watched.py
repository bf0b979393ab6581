"""A job whose tasks are bound and watched, as the scheduler-adapter does it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from keepstep.adapters.kube_controllers import KubeControllers
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.ports.controllers import Found, Sighting
from tests.adapters.cluster_tools import Watcher, watching
from tests.kube.cluster import LIMIT_S
from tests.kube.stage import Hands, Stage, launches, placed, stage


@asynccontextmanager
async def running(folder: Path, kind: JobKind = JobKind.JOBSET) -> AsyncIterator[tuple[Stage, Hands, Found, Watcher]]:
    """Run a job whose tasks are bound, and watch them."""
    async with stage(folder) as on, on.hands() as hands:
        on.submit(kind)
        job = await placed(hands)
        async with watching(hands.workloads) as watcher:
            uids = {launch.task.uid for launch in launches(job.job)}
            await watcher.until(lambda heard: uids <= {one.ref.uid for one in heard})
            yield on, hands, job, watcher


async def said(controllers: KubeControllers, kind: type[Sighting], begun: asyncio.Event | None = None) -> Sighting:
    """Return the first sighting of a kind; ``begun`` is set by whatever comes before it."""
    async with asyncio.timeout(LIMIT_S):
        async for sighting in controllers.sightings():
            if isinstance(sighting, kind):
                return sighting
            if begun is not None:
                begun.set()
    raise AssertionError("the sightings ended")


async def follow(hands: Hands) -> None:
    """Watch for ever, as the scheduler-adapter does."""
    async for _ in hands.workloads.watch():
        pass
