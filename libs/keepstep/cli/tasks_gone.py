"""Waiting until nothing of a job runs on this machine any more."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.contracts.ids import JobUid
from keepstep.ports.cluster import TaskPhase
from keepstep.ports.errors import Transient

POLL_S = 0.1
"""The port has no waiting; nobody notices a tenth of a second at the end of a run."""


async def tasks_gone(cluster: Path, jobs: Collection[JobUid]) -> None:
    """Return once no task of the jobs is left, or nobody can tell any more because the folder was taken away.

    The nodes are stopped afterwards in any case, and how the job ended was told before.
    """
    local = LocalCluster(cluster)
    while True:
        try:
            tasks = await local.tasks()
        except Transient:
            return
        if all(task.phase is TaskPhase.GONE for task in tasks if task.job in jobs):
            return
        await asyncio.sleep(POLL_S)
