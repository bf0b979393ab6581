"""The isolator against an API server: marks with incident and reason, hands respected, one answer whatever fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.events import DeviceIsolated, IsolationDeclined, NodeDrained, NodeIsolated, NodeReleased
from keepstep.contracts.message import Message
from keepstep.isolator.app import assemble
from keepstep.isolator.core import Empty, Isolations, Tend
from keepstep.isolator.kubernetes import kubernetes
from keepstep.isolator.settings import Settings
from keepstep.ports.errors import Transient
from keepstep.runtime.app import App, Context
from keepstep.runtime.stage import Stage
from keepstep.runtime.tasks import end
from tests.isolator.story import NO_PAUSE
from tests.isolator.words import POOL, accepted, release, verdict
from tests.kube.cluster import Cluster, cluster
from tests.kube.server import kinds

NPU = "Ascend910-3"
CONTEXT: Context[Isolations] = Context(POOL, SystemClock(), None, None, None, dict, None)  # type: ignore[arg-type]  # these tests ask for folds and clock alone


class Pool:
    """The isolator's stage on a cluster of four nodes, told messages and made to act by hand."""

    def __init__(self, there: Cluster, stage: Stage[Isolations]) -> None:
        self.there, self.stage, self.fold, self.said = there, stage, Isolations(), list[Message]()

    def tell(self, *messages: Message) -> None:
        for message in messages:
            if isinstance(message, self.stage.hears):
                decision = self.stage.decide(self.fold, message, message.time)
                self.fold = decision.state
                self.said += decision.says
                self.tell(*decision.says)

    async def act(self, *kind: type) -> None:
        """Do every effect of these kinds that the fold wants now."""
        for effect in [one for one in self.stage.effects(self.fold) if isinstance(one, kind)]:
            async with asyncio.timeout(20):
                said = list(await self.stage.act(effect))
            self.said += said
            self.tell(*said)

    async def fence(self, *messages: Message) -> None:
        self.tell(*messages)
        while asked := [one for one in self.stage.effects(self.fold) if not isinstance(one, Tend | Empty)]:
            await self.act(*{type(one) for one in asked})

    def node(self, name: str = "n1") -> dict[str, Any]:
        return self.there.store.get(kinds.NODE, name)

    def patch(self, spec: dict[str, Any]) -> None:
        self.there.store.patch(kinds.NODE, "n1", {"spec": spec})


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[Pool]:
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2", "n3", "n4"):
            there.node(name)
        data = {"metadata": {"name": "mindx-dl-deviceinfo-n2"}, "data": {"ManuallySeparateNPU": ""}}
        there.store.create(kinds.CONFIG_MAP, data, "kube-system")
        app = isolator(there, mindcluster=True)
        stage = app.stage(CONTEXT)
        async with following(app):
            yield Pool(there, stage)


def isolator(there: Cluster, **settings: Any) -> App[Isolations]:
    """Return a replica of the service."""
    reach = partial(kubernetes, there.client, Settings(**settings), rhythm=there.rhythm)
    return assemble(reach, tend_every=NO_PAUSE)


@asynccontextmanager
async def following(app: App[Isolations]) -> AsyncIterator[None]:
    """Run what runs beside an active replica's effects."""
    tasks = [asyncio.ensure_future(one(CONTEXT)) for one in app.background]
    try:
        yield
    finally:
        await end(tasks)


async def test_a_replica_that_is_active_again_judges_by_nothing_that_it_saw_before(tmp_path: Path) -> None:
    """What its fold wants is taken up before anything runs beside it."""
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2", "n3", "n4"):
            there.node(name)
        first, second = isolator(there), isolator(there)
        looking = Pool(there, first.stage(CONTEXT))
        async with following(first):
            await looking.fence(release("n2"))
        meanwhile = Pool(there, second.stage(CONTEXT))
        async with following(second):
            await meanwhile.fence(accepted(), verdict())
        again = Pool(there, first.stage(CONTEXT))
        again.fold = meanwhile.fold
        tending = asyncio.create_task(again.act(Tend))
        async with following(first):
            await asyncio.wait({tending}, timeout=0.5)
        tending.cancel()
        assert again.said == []
        assert "unschedulable" in again.node()["spec"]


async def test_an_isolated_node_tells_incident_rule_and_reason_to_whoever_looks(pool: Pool) -> None:
    await pool.fence(accepted(), verdict())
    notes = pool.node()["metadata"]["annotations"]
    assert notes["keepstep.io/incident"] == "incident-1"
    assert notes["keepstep.io/isolated-because"] == "device_hardware: Xid 79 on n1 (by rule xid-79)"
    assert isinstance(pool.said[-1], NodeIsolated)
    await pool.fence(release("n1"))
    assert isinstance(pool.said[-1], NodeReleased)
    assert "unschedulable" not in pool.node()["spec"]
    assert not [name for name in pool.node()["metadata"]["annotations"] if name.startswith("keepstep.io/")]


async def test_a_node_that_somebody_cordons_while_a_recovery_waits_is_left_to_them(pool: Pool) -> None:
    pool.tell(accepted(), verdict())
    pool.patch({"unschedulable": True})
    await pool.fence()
    answer = pool.said[-1]
    assert isinstance(answer, IsolationDeclined)
    assert answer.because.endswith("left as it is")
    assert "taints" not in pool.node()["spec"]
    await pool.fence(release("n1"))
    assert pool.node()["spec"]["unschedulable"] is True


async def test_two_incidents_on_one_node_are_one_cordon_and_two_answers(pool: Pool) -> None:
    await pool.fence(accepted(), verdict(), verdict(incident="b"))
    assert [type(one).__name__ for one in pool.said] == ["NodeIsolated", "IsolationDeclined"]
    assert len(pool.there.writes) == 1


async def test_whoever_uncordons_by_hand_ends_the_isolation_and_is_recorded(pool: Pool) -> None:
    await pool.fence(accepted(), verdict())
    pool.patch({"unschedulable": None})
    await pool.act(Tend)
    told = pool.said[-1]
    assert isinstance(told, NodeReleased)
    assert told.because == "uncordoned by hand"
    assert not pool.fold.isolations


async def test_an_api_server_that_is_away_delays_the_answer_and_doubles_nothing(pool: Pool) -> None:
    pool.tell(accepted(), verdict())
    (fence,) = pool.stage.effects(pool.fold)
    (lost,) = await pool.stage.act(fence)
    await pool.there.server.down()
    with pytest.raises(Transient):
        await pool.fence()
    await pool.there.server.up()
    async with asyncio.timeout(20):
        while len(pool.said) < 1:
            with suppress(Transient):
                await pool.fence()
    assert [one.id for one in pool.said] == [lost.id]
    assert len([write for write in pool.there.writes if not write.refused]) == 1


async def test_a_device_is_withheld_where_mindcluster_gives_it_out(pool: Pool) -> None:
    await pool.fence(accepted(), verdict("n2", device=NPU))
    assert isinstance(pool.said[-1], DeviceIsolated)
    listed = pool.there.store.get(kinds.CONFIG_MAP, "mindx-dl-deviceinfo-n2", "kube-system")["data"]
    assert listed == {"ManuallySeparateNPU": NPU}
    assert "unschedulable" not in pool.node("n2")["spec"]


async def test_a_drain_leaves_what_its_budget_keeps_and_says_so(pool: Pool) -> None:
    body = {"metadata": {"name": "web", "labels": {"app": "web"}}}
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    pool.there.store.create(kinds.POD, body | {"spec": spec}, "default")
    running = {"status": {"phase": "Running"}}
    pool.there.store.patch(kinds.POD, "web", running, "default", subresource="status")
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    pool.there.store.create(kinds.PDB, budget, "default")
    await pool.fence(accepted(drain="evict", drain_deadline=0), verdict())
    await pool.act(Empty)
    told = pool.said[-1]
    assert isinstance(told, NodeDrained)
    assert [pod.partition(":")[0] for pod in told.left] == ["default/web"]
    assert not told.forced
