"""A fault of a new generation is the next attempt of its incident; what repeats without progress is in vain."""

from keepstep.contracts.events import (
    FaultDiagnosed,
    LossEvidence,
    RecoveryStarted,
    SilenceEvidence,
)
from keepstep.contracts.taxonomy import Category, Level, LossCause, Phase
from tests.diagnoser.story import USER_ERROR, Case, about
from tests.diagnosis.facts import (
    PEER_CLOSED,
    exit_of,
    fault,
    raised,
)


def test_a_later_fault_revises_the_verdict_only_if_it_changes_it() -> None:
    case = Case()
    case.hear(fault(SilenceEvidence(silent_s=10), rank=2, name="task worker-1"))
    case.wait(2.1)
    case.hear(exit_of(0, *PEER_CLOSED, after=3))
    lost = fault(LossEvidence(by=LossCause.NODE_LOST, proven=True), rank=2, name="task worker-1 ", after=4)
    case.hear(lost)
    assert [(v.revision, v.verdict.category, v.verdict.isolate) for v in case.verdicts] == [
        (0, Category.UNKNOWN, False),
        (1, Category.NODE_HARDWARE, True),
    ]
    assert len({verdict.id for verdict in case.verdicts}) == 2
    case.restart(2)
    case.hear(exit_of(1, *USER_ERROR, after=-9))
    assert len(case.verdicts) == 2


def test_a_fault_of_the_new_generation_is_the_next_attempt_of_the_same_incident() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    case.hear(exit_of(0, signal=11, generation=2))
    case.wait(1)
    assert len(case.opened) == 1
    assert [(v.attempt, v.revision, v.generation, v.verdict.signature) for v in case.verdicts] == [
        (1, 0, 1, "SIGKILL"),
        (2, 0, 2, "SIGSEGV"),
    ]
    assert {verdict.incident for verdict in case.verdicts} == {case.opened[0].incident}


def test_a_plan_that_is_given_up_for_another_one_is_no_attempt_more() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    case.restart(3)
    case.hear(exit_of(0, signal=11, generation=3))
    case.wait(1)
    assert [(verdict.attempt, verdict.generation) for verdict in case.verdicts] == [(1, 1), (2, 3)]


def test_an_attempt_counts_on_from_the_recovery_that_came_before_it() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    started = RecoveryStarted(**about("started", 4), attempt=3, level=Level.JOB, from_generation=3, to_generation=4)
    case.hear(started, exit_of(0, signal=11, generation=4))
    case.wait(1)
    assert [verdict.attempt for verdict in case.verdicts] == [1, 4]


def test_a_fault_of_an_older_generation_changes_nothing() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    case.close()
    assert not case.hear(exit_of(2, *PEER_CLOSED, after=0.5))
    assert not case.wait(5)


def fail_at(case: Case, step: int, generation: int, *lines: str) -> FaultDiagnosed:
    """Fail rank 1 at a step of a generation, diagnose it, recover and close."""
    case.hear(exit_of(1, *lines, step=step, generation=generation))
    case.wait(1)
    case.restart(generation + 1)
    case.close()
    return case.verdicts[-1]


def test_peoples_own_failure_that_repeats_at_the_same_step_is_in_vain() -> None:
    case = Case()
    assert fail_at(case, 30, 1, *USER_ERROR).verdict.retriable
    assert fail_at(case, 45, 2, *USER_ERROR).verdict.retriable
    assert fail_at(case, 45, 3, *raised("KeyError: 'x'")).verdict.retriable
    again = fail_at(case, 45, 4, *USER_ERROR).verdict
    assert not again.retriable
    assert "step 45 before" in again.because
    assert again.signature == "ValueError: bad batch"


def test_a_kill_that_repeats_at_the_same_step_is_still_worth_a_try() -> None:
    case = Case()
    for generation in (1, 2):
        case.hear(exit_of(1, signal=9, step=30, generation=generation))
        case.wait(1)
        case.restart(generation + 1)
        case.close()
    assert all(verdict.verdict.retriable for verdict in case.verdicts)
    told = ["the same at step 30 before" in verdict.verdict.because for verdict in case.verdicts]
    assert told == [False, True], "who reads of the third restart knows that they get nowhere"


def test_a_checkpoint_that_does_not_load_is_named_by_the_step_of_the_plan() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2, resume=20)
    broken = raised("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory")
    case.hear(*[exit_of(rank, *broken, step=20, phase=Phase.LOAD, generation=2) for rank in range(4)])
    case.wait(1)
    verdict = case.verdicts[-1].verdict
    assert (verdict.category, verdict.bad_checkpoint, verdict.rule) == (Category.STORAGE, 20, "checkpoint-load")
