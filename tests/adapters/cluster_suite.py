"""What every cluster must do, whatever it is made of: the conformance suite of ports.cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid, derive, task_uid
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.contracts.topology import Command, JobRef, JobSpec, TaskLaunch, TaskRef
from keepstep.ports.cluster import CordonMark, Fleet, NodeStatus, TaskPhase, TaskStatus, Workloads
from keepstep.ports.errors import NoRoom, Permanent

LIMIT_S = 20.0
"""No condition is waited for longer; it only decides how soon a broken cluster fails."""
GROUP = "g"
NOWHERE: frozenset[NodeName] = frozenset()
OURS = CordonMark("keepstep", "3 Xid 79 in 60 s, limit 2", datetime(2026, 1, 1, tzinfo=UTC))
THEIRS = CordonMark("ops", "disk is being replaced", datetime(2026, 1, 1, tzinfo=UTC))


class Cluster(Fleet, Workloads, Protocol):
    """Both ports, as adapters offer them."""


class World(Protocol):
    """A cluster of three nodes n1, n2, n3 of one group, and what happens to it."""

    cluster: Cluster

    async def lose(self, node: NodeName) -> None:
        """Take a node away with all on it."""

    async def revive(self, node: NodeName) -> None:
        """Bring it back."""

    async def crash(self, task: TaskUid) -> None:
        """Let the first process of a task die by itself."""


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
        await stream.aclose()  # type: ignore[attr-defined]


async def node(cluster: Fleet, name: str) -> NodeStatus:
    """Return how a node stands."""
    return next(one for one in await cluster.nodes() if one.name == name)


async def placed(cluster: Workloads, tasks: Iterable[TaskLaunch]) -> dict[TaskUid, NodeName | None]:
    """Return where these tasks are, gone ones left out."""
    uids = {launch.task.uid for launch in tasks}
    return {one.ref.uid: one.node for one in await cluster.tasks() if one.ref.uid in uids and not gone(one)}


class ClusterSuite:
    """Inherit and give a fixture ``world``; each test finds three ready, empty, unmarked nodes."""

    async def test_a_job_gets_a_node_for_each_task(self, world: World) -> None:
        job = launches(2)
        await world.cluster.create(job, avoid=NOWHERE)
        nodes = await placed(world.cluster, job)
        assert len(set(nodes.values())) == 2
        for uid, name in nodes.items():
            assert name is not None
            assert (await node(world.cluster, name)).tasks == (uid,)

    async def test_tasks_of_one_job_are_listed_apart_from_others(self, world: World) -> None:
        mine, other = launches(1), launches(1)
        await world.cluster.create([*mine, *other], avoid=NOWHERE)
        assert [one.ref for one in await world.cluster.tasks(mine[0].job.uid)] == [mine[0].task]

    async def test_creating_again_changes_nothing(self, world: World) -> None:
        job = launches(2)
        await world.cluster.create(job, avoid=NOWHERE)
        before = await placed(world.cluster, job)
        await world.cluster.create(job, avoid=frozenset(filter(None, before.values())))
        assert await placed(world.cluster, job) == before

    async def test_a_creation_that_was_half_done_is_completed(self, world: World) -> None:
        job = launches(2)
        await world.cluster.create(job[:1], avoid=NOWHERE)
        await world.cluster.create(job, avoid=NOWHERE)
        assert len(await placed(world.cluster, job)) == 2

    async def test_a_task_that_ended_is_not_created_again(self, world: World) -> None:
        job = launches(1)
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            await world.cluster.delete(job[0].task.uid, grace=timedelta(seconds=1))
            await watcher.until_gone([job[0].task.uid])
        await world.cluster.create(job, avoid=NOWHERE)
        assert await placed(world.cluster, job) == {}

    async def test_without_room_nothing_is_placed_and_the_reasons_are_said(self, world: World) -> None:
        await world.cluster.cordon(NodeName("n2"), OURS)
        busy, job = launches(1), launches(2)
        await world.cluster.create(busy, avoid=frozenset({NodeName("n1")}))
        with pytest.raises(NoRoom) as refusal:
            await world.cluster.create(job, avoid=NOWHERE)
        assert await placed(world.cluster, job) == {}
        said = str(refusal.value)
        assert "needs 2 nodes in group g, 1 of 3 free" in said
        assert f"n2 is cordoned by keepstep ({OURS.reason})" in said
        assert f"n3 runs worker-0 of job {busy[0].job.uid}" in said

    async def test_avoided_nodes_and_other_groups_are_not_used(self, world: World) -> None:
        with pytest.raises(NoRoom, match="n1 is to be avoided, n2 is to be avoided, n3 is to be avoided"):
            await world.cluster.create(launches(1), avoid=frozenset(map(NodeName, ("n1", "n2", "n3"))))
        with pytest.raises(NoRoom, match="needs 1 node in group elsewhere, 0 of 0 free"):
            await world.cluster.create(launches(1, group="elsewhere"), avoid=NOWHERE)

    async def test_of_two_creations_at_once_only_one_gets_the_last_nodes(self, world: World) -> None:
        one, two = launches(2), launches(2)
        results = await asyncio.gather(
            world.cluster.create(one, avoid=frozenset({NodeName("n3")})),
            world.cluster.create(two, avoid=frozenset({NodeName("n1")})),
            return_exceptions=True,
        )
        assert [type(result) for result in results if result is not None] == [NoRoom]
        assert sorted([len(await placed(world.cluster, one)), len(await placed(world.cluster, two))]) == [0, 2]

    async def test_the_same_task_created_by_two_replicas_at_once_runs_once(self, world: World) -> None:
        job = launches(1)
        await asyncio.gather(*(world.cluster.create(job, avoid=frozenset({NodeName(name)})) for name in ("n1", "n2")))
        assert sum(len(one.tasks) for one in await world.cluster.nodes()) == 1

    async def test_a_watch_tells_the_life_of_a_task(self, world: World) -> None:
        job = launches(1)
        uid = job[0].task.uid
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            await watcher.until(lambda heard: any(one.ref.uid == uid for one in heard))
            await world.cluster.delete(uid, grace=timedelta(seconds=1))
            last = (await watcher.until_gone([uid]))[uid]
            assert watcher.phases(uid)[-2:] == [TaskPhase.RUNNING, TaskPhase.GONE]
        assert last.by is LossCause.DELETED
        assert last.job == job[0].job.uid

    async def test_a_watch_begins_with_what_is_there(self, world: World) -> None:
        job = launches(2)
        await world.cluster.create(job, avoid=NOWHERE)
        async with watching(world.cluster) as watcher:
            wanted = {launch.task.uid for launch in job}
            await watcher.until(lambda heard: wanted <= {one.ref.uid for one in heard})

    async def test_deleting_what_is_not_there_is_fine(self, world: World) -> None:
        await world.cluster.delete(TaskUid("nobody"), grace=timedelta(0))

    async def test_a_deleted_task_makes_room(self, world: World) -> None:
        job, next_job = launches(3), launches(3)
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            for launch in job:
                await world.cluster.delete(launch.task.uid, grace=timedelta(seconds=1))
            await watcher.until_gone(launch.task.uid for launch in job)
        await world.cluster.create(next_job, avoid=NOWHERE)
        assert len(await placed(world.cluster, next_job)) == 3

    async def test_a_task_that_dies_by_itself_is_no_deletion(self, world: World) -> None:
        job = launches(1)
        uid = job[0].task.uid
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            await watcher.until(lambda heard: any(one.phase is TaskPhase.RUNNING for one in heard))
            await world.crash(uid)
            assert (await watcher.until_gone([uid]))[uid].by is LossCause.LAUNCHER_EXITED

    async def test_a_lost_node_takes_its_task_and_only_that(self, world: World) -> None:
        job = launches(2)
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            nodes = await placed(world.cluster, job)
            lost, kept = nodes
            await watcher.until(lambda heard: {lost, kept} <= {one.ref.uid for one in heard})
            await world.lose(NodeName(str(nodes[lost])))
            assert (await watcher.until_gone([lost]))[lost].by is LossCause.NODE_LOST
        assert not (await node(world.cluster, str(nodes[lost]))).ready
        assert list(await placed(world.cluster, job)) == [kept]

    async def test_a_node_lost_while_nobody_watched_is_found_by_the_relist(self, world: World) -> None:
        job = launches(1)
        await world.cluster.create(job, avoid=NOWHERE)
        (where,) = (await placed(world.cluster, job)).values()
        await world.lose(NodeName(str(where)))
        async with watching(world.cluster) as watcher:
            said = await watcher.until_gone([job[0].task.uid])
        assert said[job[0].task.uid].by is LossCause.NODE_LOST
        async with watching(world.cluster) as watcher:
            assert await watcher.until_gone([job[0].task.uid]) == said

    async def test_a_lost_node_gets_nothing_until_it_is_back(self, world: World) -> None:
        await world.lose(NodeName("n1"))
        with pytest.raises(NoRoom, match="n1 is not ready"):
            await world.cluster.create(launches(3), avoid=NOWHERE)
        await world.revive(NodeName("n1"))
        back = await node(world.cluster, "n1")
        assert back.ready
        assert back.tasks == ()
        await world.cluster.create(launches(3), avoid=NOWHERE)

    async def test_a_watch_goes_on_when_a_node_returns(self, world: World) -> None:
        job = launches(3)
        async with watching(world.cluster) as watcher:
            await world.lose(NodeName("n1"))
            await world.revive(NodeName("n1"))
            await world.cluster.create(job, avoid=NOWHERE)
            wanted = {launch.task.uid for launch in job}
            await watcher.until(lambda heard: wanted <= {one.ref.uid for one in heard})

    async def test_a_cordon_keeps_tasks_off_and_those_that_run(self, world: World) -> None:
        job = launches(1)
        await world.cluster.create(job, avoid=NOWHERE)
        (where,) = (await placed(world.cluster, job)).values()
        await world.cluster.cordon(NodeName(str(where)), OURS)
        await world.cluster.cordon(NodeName(str(where)), OURS)
        assert (await node(world.cluster, str(where))).mark == OURS
        assert len(await placed(world.cluster, job)) == 1
        await world.cluster.uncordon(NodeName(str(where)), owner=OURS.owner)
        await world.cluster.uncordon(NodeName(str(where)), owner=OURS.owner)
        assert (await node(world.cluster, str(where))).mark is None

    async def test_a_foreign_cordon_is_respected(self, world: World) -> None:
        await world.cluster.cordon(NodeName("n1"), THEIRS)
        with pytest.raises(Permanent, match="ops"):
            await world.cluster.cordon(NodeName("n1"), OURS)
        with pytest.raises(Permanent, match="ops"):
            await world.cluster.uncordon(NodeName("n1"), owner=OURS.owner)
        assert (await node(world.cluster, "n1")).mark == THEIRS

    async def test_a_lost_node_can_be_cordoned_and_stays_so_when_it_returns(self, world: World) -> None:
        await world.lose(NodeName("n1"))
        await world.cluster.cordon(NodeName("n1"), OURS)
        await world.revive(NodeName("n1"))
        back = await node(world.cluster, "n1")
        assert back.ready
        assert back.mark == OURS

    async def test_an_unknown_node_cannot_be_cordoned(self, world: World) -> None:
        with pytest.raises(Permanent, match="nowhere"):
            await world.cluster.cordon(NodeName("nowhere"), OURS)

    async def test_some_level_is_supported(self, world: World) -> None:
        assert {Level.IN_PLACE, Level.JOB} & world.cluster.supports()
