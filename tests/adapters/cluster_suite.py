"""What every cluster must do, whatever it is made of: the conformance suite of ports.cluster."""

import asyncio
from datetime import timedelta
from typing import Protocol

import pytest

from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import Fleet, TaskPhase, Workloads
from keepstep.ports.errors import NoRoom, Permanent
from tests.adapters.cluster_tools import NOWHERE, OURS, THEIRS, node, placed, watching


class Cluster(Fleet, Workloads, Protocol):
    """Both ports, as adapters offer them."""


class World(Protocol):
    """A cluster of three nodes n1, n2, n3 of one group, and what happens to it."""

    @property
    def cluster(self) -> Cluster:
        """Return both ports on it."""

    async def job(self, nodes: int = 1) -> list[TaskLaunch]:
        """Return the tasks of a new job on this many nodes; where a controller makes its pods, it is told to."""

    async def lose(self, node: NodeName) -> None:
        """Take a node away with all on it."""

    async def revive(self, node: NodeName) -> None:
        """Bring it back."""

    async def crash(self, task: TaskUid) -> None:
        """Let the first process of a task die by itself."""


class ClusterSuite:
    """Inherit and give a fixture ``world``; each test finds three ready, empty, unmarked nodes."""

    async def test_a_job_gets_a_node_for_each_task(self, world: World) -> None:
        job = await world.job(2)
        await world.cluster.create(job, avoid=NOWHERE)
        nodes = await placed(world.cluster, job)
        assert len(set(nodes.values())) == 2
        assert None not in nodes.values()

    async def test_tasks_of_one_job_are_listed_apart_from_others(self, world: World) -> None:
        mine, other = await world.job(), await world.job()
        await world.cluster.create(mine, avoid=NOWHERE)
        await world.cluster.create(other, avoid=NOWHERE)
        assert [one.ref for one in await world.cluster.tasks(mine[0].job.uid)] == [mine[0].task]

    async def test_creating_again_changes_nothing(self, world: World) -> None:
        job = await world.job(2)
        await world.cluster.create(job, avoid=NOWHERE)
        before = await placed(world.cluster, job)
        await world.cluster.create(job, avoid=frozenset(filter(None, before.values())))
        assert await placed(world.cluster, job) == before

    async def test_a_creation_that_was_half_done_is_completed(self, world: World) -> None:
        job = await world.job(2)
        await world.cluster.create(job[:1], avoid=NOWHERE)
        await world.cluster.create(job, avoid=NOWHERE)
        assert len(await placed(world.cluster, job)) == 2

    async def test_a_task_that_ended_is_not_created_again(self, world: World) -> None:
        job = await world.job()
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            await world.cluster.delete(job[0].task.uid, grace=timedelta(seconds=1))
            await watcher.until_gone([job[0].task.uid])
        await world.cluster.create(job, avoid=NOWHERE)
        assert await placed(world.cluster, job) == {}

    async def test_the_same_task_created_by_two_replicas_at_once_runs_once(self, world: World) -> None:
        job = await world.job()
        await asyncio.gather(*(world.cluster.create(job, avoid=NOWHERE) for _ in range(2)))
        assert [one.ref for one in await world.cluster.tasks(job[0].job.uid)] == [job[0].task]

    async def test_a_watch_tells_the_life_of_a_task(self, world: World) -> None:
        job = await world.job()
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
        job = await world.job(2)
        await world.cluster.create(job, avoid=NOWHERE)
        async with watching(world.cluster) as watcher:
            wanted = {launch.task.uid for launch in job}
            await watcher.until(lambda heard: wanted <= {one.ref.uid for one in heard})

    async def test_deleting_what_is_not_there_is_fine(self, world: World) -> None:
        await world.cluster.delete(TaskUid("nobody"), grace=timedelta(0))

    async def test_a_task_that_dies_by_itself_is_no_deletion(self, world: World) -> None:
        job = await world.job()
        uid = job[0].task.uid
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            await watcher.until(lambda heard: any(one.phase is TaskPhase.RUNNING for one in heard))
            await world.crash(uid)
            assert (await watcher.until_gone([uid]))[uid].by is LossCause.LAUNCHER_EXITED

    async def test_a_lost_node_takes_its_task_and_only_that(self, world: World) -> None:
        job = await world.job(2)
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
        job = await world.job()
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
        job = await world.job(3)
        with pytest.raises(NoRoom):
            await world.cluster.create(job, avoid=NOWHERE)
        assert await placed(world.cluster, job) == {}
        await world.revive(NodeName("n1"))
        assert (await node(world.cluster, "n1")).ready
        await world.cluster.create(job, avoid=NOWHERE)
        assert len(await placed(world.cluster, job)) == 3

    async def test_a_watch_goes_on_when_a_node_returns(self, world: World) -> None:
        job = await world.job(3)
        async with watching(world.cluster) as watcher:
            await world.lose(NodeName("n1"))
            await world.revive(NodeName("n1"))
            await world.cluster.create(job, avoid=NOWHERE)
            wanted = {launch.task.uid for launch in job}
            await watcher.until(lambda heard: wanted <= {one.ref.uid for one in heard})

    async def test_a_cordon_keeps_tasks_off_and_those_that_run(self, world: World) -> None:
        job = await world.job()
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
