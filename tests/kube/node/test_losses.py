"""A training on the cluster, and what takes its pods away: one incident each time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import TaskLost
from keepstep.contracts.taxonomy import Level, LossCause

from ..controllers.pods import holds
from ..server import kinds
from .nodes import Fate
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import in_seat, recovered, started, uids

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=1) as k, keepstep_on(k) as stack:
        yield stack


async def test_a_pod_of_a_node_that_is_taken_away_is_replaced_on_another(s: Keepstep) -> None:
    before = await started(s)
    _, node = in_seat(s, "1")
    s.k.nodes.lose(node, Fate.DEAD)
    await s.k.until(lambda: not holds(s.k.store.get(kinds.NODE, node), "Ready"))
    s.k.nodes.delete(node)
    await recovered(s, Level.POD, first=Level.IN_PLACE)
    assert [lost.by for lost in s.all(TaskLost)] == [LossCause.NODE_LOST]
    assert uids(s)["0"] == before["0"]
    assert in_seat(s, "1")[1] != node
