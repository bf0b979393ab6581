"""Twenty nodes of 500 lost in one moment under real services: each job one incident, each lost node one decision."""

from collections import Counter
from pathlib import Path

import pytest

from keepstep.contracts.taxonomy import Service

from .burst import lose
from .layout import Layout
from .stack import stacked
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
    assert burst.incidents == Counter(dict.fromkeys(burst.hit, 1))
    assert len(burst.hit) == 20
    assert sorted(str(answer.node) for answer in burst.answers.values()) == burst.loss.nodes
    assert burst.isolated == 12
    declined = {answer.because for answer in burst.answers.values() if not answer.isolated}
    assert all(because.startswith("held for a person: 12 isolations in 600 s") for because in declined), declined
    assert adapter.peak_mib < 300
