"""What others say of the network or of storage: it explains who lost a peer, and by itself restarts nobody."""

import pytest

from keepstep.contracts.events import (
    DeviceEvidence,
    FaultCleared,
    FaultDetected,
    IncidentClosed,
    SilenceEvidence,
)
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.diagnoser.core.without_verdict import KEPT, MAX_HEARD
from tests.diagnoser.story import USER_ERROR, Case, about
from tests.diagnosis.facts import PEER_CLOSED, exit_of, fault

SILENT = fault(SilenceEvidence(silent_s=10), rank=2, name="task worker-1")
LINK_DOWN = DeviceEvidence(device="1", code="220001001", text="MindCluster level SeparateNPU, public: link down")


@pytest.mark.parametrize(
    "cause", [exit_of(3, *USER_ERROR), exit_of(3, signal=9), SILENT], ids=["code", "kill", "silent"]
)
@pytest.mark.parametrize("settled", [False, True])
def test_a_peer_s_word_of_the_network_takes_no_incident_over(cause: FaultDetected, settled: bool) -> None:
    """One post of a link that is down made a user's own error the hardware's, and isolated its node."""
    alone, case = Case(), Case()
    alone.hear(cause)
    alone.wait(3)
    case.hear(cause)
    if settled:
        case.wait(3)
    case.hear(fault(LINK_DOWN, rank=0, after=1, name="device 1 of node node-0"))
    case.wait(3)
    (before,), (after,) = alone.verdicts, case.verdicts
    assert (after.verdict.category, after.verdict.culprit) == (before.verdict.category, before.verdict.culprit)
    assert not after.verdict.isolate


def test_the_network_s_word_explains_ranks_that_only_lost_a_peer_and_isolates_nothing() -> None:
    case = Case()
    case.hear(fault(LINK_DOWN, rank=0, name="device 1 of node node-0"), exit_of(2, *PEER_CLOSED, after=1))
    case.wait(3)
    (said,) = case.verdicts
    assert (said.verdict.category, said.verdict.isolate) == (Category.NETWORK, False)


def down(number: int = 0, *, rank: int = 0, after: float = 0, generation: int = 1) -> FaultDetected:
    """Return one word of the link, by the clock of the case."""
    told = LINK_DOWN.model_copy(update={"device": str(number)})
    name = f"device {number} of node node-{rank // 2}"
    return fault(told, rank=rank, after=after, name=name, generation=generation)


def test_hearsay_alone_restarts_nothing_and_its_incident_tells_why() -> None:
    """Three posts in an hour of a link that flapped restarted a healthy training three times, and then failed it."""
    case = Case()
    for number in range(2 * MAX_HEARD):
        case.hear(down(number, after=60.0 * number))
        case.wait(60)
    assert not case.verdicts
    closed = [said for said in case.said if isinstance(said, IncidentClosed)]
    assert [one.outcome for one in closed] == [Outcome.CLEARED] * 2 * MAX_HEARD
    assert {one.incident for one in closed} == {one.incident for one in case.opened}
    assert "hearsay alone restarts nothing" in closed[0].because
    assert "MindCluster level SeparateNPU, public: link down" in closed[0].because
    assert case.fold is not None
    assert len(case.fold.heard) == MAX_HEARD


@pytest.mark.parametrize(("waited", "rule"), [(600.0, "network-reported"), (KEPT.total_seconds() + 60, "peer-lost")])
def test_what_was_heard_explains_a_time_out_of_the_collectives_that_comes_of_it_later(waited: float, rule: str) -> None:
    case = Case()
    case.hear(down())
    case.wait(waited)
    case.hear(exit_of(2, *PEER_CLOSED, after=waited))
    case.wait(3)
    (said,) = case.verdicts
    assert (said.verdict.rule, said.verdict.isolate) == (rule, False)


def test_what_was_heard_explains_nothing_once_it_is_over() -> None:
    case, told = Case(), down()
    case.hear(told)
    case.wait(60)
    case.hear(FaultCleared(**about("over") | {"cause": told.id, "task": told.task}, because="link up"))
    case.hear(exit_of(2, *PEER_CLOSED, after=61))
    case.wait(3)
    (said,) = case.verdicts
    assert said.verdict.rule == "peer-lost"


def test_hearsay_during_a_recovery_leaves_it_to_its_course() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    case.hear(down(after=2, generation=2))
    assert not case.wait(5)
    case.hear(exit_of(0, signal=9, generation=2))
    case.wait(1)
    assert [(said.attempt, said.verdict.category) for said in case.verdicts] == [
        (1, case.verdicts[0].verdict.category),
        (2, case.verdicts[0].verdict.category),
    ]
