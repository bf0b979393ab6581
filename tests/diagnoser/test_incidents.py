"""One incident per cause: when it opens, what closes it without a restart, and who looks after it."""

import pytest

from keepstep.contracts.events import (
    FaultCleared,
    FaultDetected,
    FaultDiagnosed,
    IncidentAcknowledged,
    IncidentClosed,
    IncidentOverdue,
    JobFailed,
    SilenceEvidence,
)
from keepstep.contracts.orders import AckIncident
from keepstep.contracts.policy import RecoveryPolicy
from keepstep.contracts.taxonomy import Category, Outcome
from tests.diagnoser.story import Case, about
from tests.diagnosis.facts import (
    PEER_CLOSED,
    START,
    exit_of,
    fault,
    who,
)


def test_a_fault_said_again_after_its_incident_closed_opens_no_other() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.close(Outcome.CLEARED)
    assert not case.hear(exit_of(3, signal=9))
    assert len(case.opened) == 1


def test_a_fault_that_settles_while_its_incident_resumes_becomes_the_next_incident() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    case.hear(exit_of(2, signal=9, after=2, generation=2))
    case.close()
    assert [opened.fault for opened in case.opened] == [exit_of(3, signal=9).id, exit_of(2, generation=2).id]
    case.wait(1)
    first, second = case.verdicts
    assert (second.incident, second.attempt, second.generation) == (case.opened[1].incident, 1, 2)
    assert (second.incident != first.incident, second.verdict.culprit) == (True, who(2))


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.CLEARED, Outcome.JOB_GONE])
def test_a_fault_that_settles_while_its_job_ends_opens_no_other(outcome: Outcome) -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.close(outcome)
    assert len(case.opened) == 1
    assert not case.wait(3)


def take_back(one: FaultDetected) -> FaultCleared:
    fields = about(f"cleared {one.id}") | {"cause": one.id, "task": one.task, "node": one.node}
    return FaultCleared(**fields, because="heard again")


SILENT = fault(SilenceEvidence(silent_s=10), rank=2, name="task worker-1")


def test_a_fault_that_is_over_before_its_verdict_closes_its_incident_and_restarts_nothing() -> None:
    case = Case()
    case.hear(SILENT)
    (closed,) = case.hear(take_back(SILENT))
    assert isinstance(closed, IncidentClosed)
    assert (closed.incident, closed.outcome) == (case.opened[0].incident, Outcome.CLEARED)
    assert not case.wait(5)


def test_a_fault_taken_back_leaves_the_others_to_be_judged() -> None:
    case = Case()
    case.hear(SILENT, exit_of(0, *PEER_CLOSED, after=1))
    assert not case.hear(take_back(SILENT))
    (verdict,) = case.wait(3)
    assert isinstance(verdict, FaultDiagnosed)
    assert verdict.verdict.rule == "peer-lost"
    assert SILENT.id not in verdict.faults


def test_a_fault_taken_back_after_its_verdict_is_left_to_the_recovery() -> None:
    case = Case()
    case.hear(SILENT)
    case.wait(3)
    assert not case.hear(take_back(SILENT))


def test_a_fault_of_a_new_attempt_that_is_over_leaves_the_incident_to_its_recovery() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    late = fault(SilenceEvidence(silent_s=10), rank=2, name="task worker-1", generation=2)
    assert not case.hear(late, take_back(late))
    assert not case.wait(5)
    case.hear(exit_of(0, signal=9, generation=2))
    case.wait(1)
    assert [verdict.attempt for verdict in case.verdicts] == [1, 2]


def test_after_the_incident_closed_the_next_fault_opens_another() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    case.close()
    case.hear(exit_of(3, signal=9, generation=2))
    case.wait(1)
    assert len({opened.incident for opened in case.opened}) == len(case.opened) == 2
    assert [verdict.attempt for verdict in case.verdicts] == [1, 1]


def test_a_job_that_ended_is_not_diagnosed_and_keeps_no_deadline() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9), JobFailed(**about("failed"), category=Category.UNKNOWN, because="x"))
    assert not case.wait(5)
    assert not case.hear(exit_of(2, signal=9))


def test_an_incident_open_past_every_deadline_of_its_recovery_is_said_once() -> None:
    limit = RecoveryPolicy().longest.total_seconds()
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(limit - 1)
    case.restart(2)
    case.hear(exit_of(2, signal=9, generation=2))
    (said,) = [one for one in case.wait(2) if isinstance(one, IncidentOverdue)]
    assert (said.incident, said.opened) == (case.opened[0].incident, START)
    assert f"open past {limit:.0f} s" in said.because
    assert not [one for one in case.wait(limit) if isinstance(one, IncidentOverdue)]


def test_an_incident_that_closed_in_time_is_not_alerted_of() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.close()
    assert not case.wait(RecoveryPolicy().longest.total_seconds())


def test_a_person_who_looks_after_an_incident_is_recorded() -> None:
    case = Case()
    (opened,) = case.hear(exit_of(3, signal=9))
    (said,) = case.hear(AckIncident(**about("ack"), incident=opened.incident, by="lee"))
    assert isinstance(said, IncidentAcknowledged)
    assert (said.by, said.incident) == ("lee", opened.incident)
