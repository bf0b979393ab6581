"""What the conformance suite of clusters works with: jobs of its own, and watches that are waited on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid, derive, task_uid
from keepstep.contracts.topology import Command, JobRef, JobSpec, TaskLaunch, TaskRef
from keepstep.ports.cluster import CordonMark, Fleet, NodeStatus, TaskPhase, TaskStatus, Workloads

LIMIT_S = 20.0
"""No condition is waited for longer; it only decides how soon a broken cluster fails."""
GROUP = "g"
NOWHERE: frozenset[NodeName] = frozenset()
OURS = CordonMark("keepstep", "3 Xid 79 in 60 s, limit 2", datetime(2026, 1, 1, tzinfo=UTC))
THEIRS = CordonMark("ops", "disk is being replaced", datetime(2026, 1, 1, tzinfo=UTC))


class Names:
    """Gives every test jobs of its own, so that tests may share a cluster."""

    count = 0

    @classmethod
    def job(cls) -> JobUid:
        cls.count += 1
        return JobUid(derive("suite", cls.count))


def launches(
    nodes: int = 1, *, job: JobUid | None = None, group: str | None = GROUP, incarnation: int = 1
) -> list[TaskLaunch]:
    """Return the tasks of a job on this many nodes."""
    ref = JobRef(name="suite", uid=job or Names.job())
    spec = JobSpec(name="suite", entrypoint=Command(argv=("true",)), nodes=nodes, node_group=group)
    names = [f"worker-{index}" for index in range(nodes)]
    return [
        TaskLaunch(
            pool=Pool("default"),
            job=ref,
            task=TaskRef(name=name, uid=task_uid(ref.uid, name, incarnation), index=index),
            spec=spec,
        )
        for index, name in enumerate(names)
    ]


class Watcher:
    """Keeps what a watch has said and waits for what it has yet to say."""

    def __init__(self, stream: AsyncIterator[TaskStatus]) -> None:
        self.heard: list[TaskStatus] = []
        self._stream = stream

    async def until(self, met: Callable[[list[TaskStatus]], bool]) -> list[TaskStatus]:
        """Listen until the condition holds for all that was heard."""
        async with asyncio.timeout(LIMIT_S):
            while not met(self.heard):
                self.heard.append(await anext(self._stream))
        return self.heard

    async def until_gone(self, uids: Iterable[TaskUid]) -> dict[TaskUid, TaskStatus]:
        """Listen until these tasks are gone with proof, and return what was said of each last."""
        wanted = set(uids)
        heard = await self.until(lambda heard: wanted <= {one.ref.uid for one in heard if gone(one)})
        return {one.ref.uid: one for one in heard if one.ref.uid in wanted}

    def phases(self, uid: TaskUid) -> list[TaskPhase]:
        """Return what was said of a task, repetitions left out."""
        said = [one.phase for one in self.heard if one.ref.uid == uid]
        return [phase for before, phase in zip([None, *said], said, strict=False) if phase is not before]


def gone(status: TaskStatus) -> bool:
    """Return whether the ranks of the task may be given out again."""
    return status.phase is TaskPhase.GONE and status.proven


@asynccontextmanager
async def watching(cluster: Workloads) -> AsyncIterator[Watcher]:
    """Watch for the block."""
    stream = cluster.watch()
    try:
        yield Watcher(stream)
    finally:
        await stream.aclose()  # type: ignore[attr-defined]  # a generator, typed as an iterator


async def node(cluster: Fleet, name: str) -> NodeStatus:
    """Return how a node stands."""
    return next(one for one in await cluster.nodes() if one.name == name)


async def placed(cluster: Workloads, tasks: Iterable[TaskLaunch]) -> dict[TaskUid, NodeName | None]:
    """Return where these tasks are, gone ones left out."""
    uids = {launch.task.uid for launch in tasks}
    return {one.ref.uid: one.node for one in await cluster.tasks() if one.ref.uid in uids and not gone(one)}
