"""On Kubernetes each service dies alone right before its own work in an incident: there is one restart all the same."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from keepstep.contracts.events import FaultDetected, IncidentClosed, IncidentOpened, RecoveryStarted
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome, Service
from tests.system.test_cut_points import TAKEN_OVER

from .deployed import Deployed, deployed_on
from .stack import kube_stack
from .story import policy, uids
from .test_logs import talking
from .trainings import NAME

pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
]

RANKS = 2
MANY = {"count": 100_000}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def s(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployed]:
    """One job of two pods that only talk, for all tests of this file."""
    folder = tmp_path_factory.mktemp("dying")
    async with kube_stack(folder, nodes=2, gpus=2, rbac=True) as k, deployed_on(k) as stack:
        lasting = policy(stack, crash=MANY, unknown=MANY, instant_failure="PT0S")
        await stack.create(talking(ranks=1), options=lasting)
        await stack.stepping(NAME, RANKS, 1)
        yield stack


@pytest.mark.parametrize("service", Service)
async def test_a_service_that_dies_before_its_own_work_does_it_after_its_restart(s: Deployed, service: Service) -> None:
    await s.ready()
    before, pods, point = set(s.said), uids(s), TAKEN_OVER[service]
    old = max(slot.generation for slot in s.slots(NAME).values())

    def news() -> list[Message]:
        return [message for name, message in s.said.items() if name not in before]

    s.kill_rank(NAME, old % RANKS)
    await s.until(lambda: any(point.is_at(message) for message in news()), f"{point} after a rank was killed")
    s.kill_one(service)
    s.start_one(service)
    await s.until(lambda: any(isinstance(message, IncidentClosed) for message in news()), f"closed after {point}")
    await s.stepping(NAME, RANKS, old + 1)
    restarts = [(m.from_generation, m.to_generation) for m in news() if isinstance(m, RecoveryStarted)]
    assert restarts == [(old, old + 1)], s.told()
    assert [m.outcome for m in news() if isinstance(m, IncidentClosed)] == [Outcome.RESUMED], s.told()
    assert [sum(isinstance(m, kind) for m in news()) for kind in (FaultDetected, IncidentOpened)] == [1, 1], s.told()
    assert uids(s) == pods
    assert s.refused == []
