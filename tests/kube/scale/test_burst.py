"""Twenty nodes of 500 lost in one moment under real services: each job one incident, each lost node one decision."""

from collections import Counter
from pathlib import Path

import pytest

from keepstep.contracts.ids import JobUid
from keepstep.contracts.taxonomy import Service

from .burst import SILENT, Burst, lose
from .layout import Layout
from .stack import Loss, stacked
from .usage import usage

FLEET = Layout(nodes=500, jobs=20)


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(300)
async def test_twenty_nodes_lost_at_once_are_one_incident_a_job_and_one_decision_a_node(tmp_path: Path) -> None:
    async with stacked(tmp_path, FLEET, updates=50, storm=12) as stack:
        burst = await lose(stack, 20, "out-of-service", within_s=120, calm_s=2)
        stack.check()
        adapter = usage(stack.services[Service.SCHEDULER_ADAPTER].pid)
    assert burst.amiss == ()
    assert burst.incidents == Counter(dict.fromkeys(burst.hit, 1))
    assert len(burst.hit) == 20
    assert sorted(str(answer.node) for answer in burst.answers.values()) == burst.loss.nodes
    assert burst.isolated == 12
    declined = {answer.because for answer in burst.answers.values() if not answer.isolated}
    assert all(because.startswith("held for a person: 12 isolations in 600 s") for because in declined), declined
    assert adapter.peak_mib < 300


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(300)
async def test_of_nodes_that_only_fell_silent_nothing_is_said(tmp_path: Path) -> None:
    """Their ranks may step on, and their agents be heard: the silence of those is told by the detector."""
    async with stacked(tmp_path, FLEET, updates=50) as stack:
        burst = await lose(stack, 20, SILENT, within_s=10, calm_s=1)
        stack.check()
    assert len(burst.hit) == 20
    assert burst.amiss == ()
    assert not burst.incidents


def test_a_burst_tells_jobs_without_an_incident_from_jobs_with_two() -> None:
    a, b, c = (JobUid(name) for name in "abc")
    burst = Burst(Loss(0.0, "deleted", ["n1", "n2"], 0.0), frozenset({a, b}), incidents=Counter({a: 2, c: 1}))
    assert burst.amiss == (
        "1 jobs hit without an incident",
        "2 incidents too many",
        "2 jobs hit without a decision",
    )
