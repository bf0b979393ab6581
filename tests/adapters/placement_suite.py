"""What a cluster must do where keepstep itself finds the nodes, and no scheduler of somebody else's."""

import asyncio
from datetime import timedelta

import pytest

from keepstep.contracts.ids import NodeName
from keepstep.ports.errors import NoRoom
from tests.adapters.cluster_suite import World
from tests.adapters.cluster_tools import NOWHERE, OURS, launches, node, placed, watching


class PlacementSuite:
    """Inherit and give a fixture ``world`` as for ClusterSuite."""

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
        with pytest.raises(NoRoom, match="n1 is to be avoided; n2 is to be avoided; n3 is to be avoided"):
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

    async def test_a_deleted_task_makes_room(self, world: World) -> None:
        job, next_job = launches(3), launches(3)
        async with watching(world.cluster) as watcher:
            await world.cluster.create(job, avoid=NOWHERE)
            for launch in job:
                await world.cluster.delete(launch.task.uid, grace=timedelta(seconds=1))
            await watcher.until_gone(launch.task.uid for launch in job)
        await world.cluster.create(next_job, avoid=NOWHERE)
        assert len(await placed(world.cluster, next_job)) == 3

    async def test_a_node_tells_what_runs_on_it(self, world: World) -> None:
        job = launches(2)
        await world.cluster.create(job, avoid=NOWHERE)
        for uid, name in (await placed(world.cluster, job)).items():
            assert (await node(world.cluster, str(name))).tasks == (uid,)

    async def test_a_node_that_is_not_ready_is_named_in_the_refusal(self, world: World) -> None:
        await world.lose(NodeName("n1"))
        with pytest.raises(NoRoom, match="n1 is not ready"):
            await world.cluster.create(launches(3), avoid=NOWHERE)
        await world.revive(NodeName("n1"))
        assert (await node(world.cluster, "n1")).tasks == ()

    async def test_two_replicas_that_see_other_nodes_free_start_a_task_once(self, world: World) -> None:
        job = launches(1)
        await asyncio.gather(*(world.cluster.create(job, avoid=frozenset({NodeName(name)})) for name in ("n1", "n2")))
        assert sum(len(one.tasks) for one in await world.cluster.nodes()) == 1
