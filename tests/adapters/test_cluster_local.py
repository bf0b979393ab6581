"""The local cluster passes the suite of all clusters, on real supervisors and tasks that only sleep."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_faults import TaskFault, hurt_task
from keepstep.adapters.local_nodes import LocalNodes
from keepstep.adapters.local_task import Commands
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.errors import Transient
from tests.adapters.cluster_suite import ClusterSuite
from tests.adapters.cluster_tools import GROUP, launches, watching
from tests.adapters.placement_suite import PlacementSuite

SLEEPERS = Commands(launcher=("sleep", "1000"), agent=("sleep", "1000"), agent_grace_s=0.02)
NAMES = ("n1", "n2", "n3")


class LocalWorld:
    """Three real supervisors, shared by the tests of this file and put in order between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = LocalNodes(folder, commands=SLEEPERS)
        self.cluster = LocalCluster(folder)

    async def job(self, nodes: int = 1) -> list[TaskLaunch]:
        return launches(nodes)

    async def lose(self, node: NodeName) -> None:
        self.nodes.lose(node)

    async def revive(self, node: NodeName) -> None:
        self.nodes.revive(node)

    async def crash(self, task: TaskUid) -> None:
        await hurt_task(self.folder, task, TaskFault.LAUNCHER_KILL)

    async def tidy(self) -> None:
        for node in await self.cluster.nodes():
            if not node.ready:
                self.nodes.revive(node.name)
            if node.mark is not None:
                await self.cluster.uncordon(node.name, owner=node.mark.owner)
        left = [task for node in await self.cluster.nodes() for task in node.tasks]
        async with watching(self.cluster) as watcher:
            for task in left:
                await self.cluster.delete(task, grace=timedelta(0))
            await watcher.until_gone(left)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWorld]:
    world = LocalWorld(tmp_path_factory.mktemp("cluster"))
    world.nodes.start_all(NAMES, GROUP)
    yield world
    world.nodes.stop_all()


@pytest.fixture
async def world(shared: LocalWorld) -> AsyncIterator[LocalWorld]:
    yield shared
    await shared.tidy()


class TestLocalCluster(ClusterSuite):
    """The suite, run on local nodes."""


class TestLocalPlacement(PlacementSuite):
    """The suite of clusters where keepstep finds the nodes, run on local nodes."""


async def test_a_cluster_without_a_folder_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="start its nodes first"):
        await LocalCluster(tmp_path / "missing").nodes()
