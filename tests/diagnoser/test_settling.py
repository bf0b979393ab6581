"""A verdict waits for the cause as long as the cause may be on its way, and no longer."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.events import (
    DeadlinePassed,
    EvidenceCaptured,
    FaultDetected,
    FaultDiagnosed,
    IncidentOpened,
    LossEvidence,
    StallEvidence,
)
from keepstep.contracts.taxonomy import Category, LossCause, Service, StallSign
from keepstep.contracts.topology import Culprit
from tests.diagnoser.story import Case, about
from tests.diagnosis.facts import (
    JOB,
    PEER_CLOSED,
    START,
    TIMED_OUT,
    exit_of,
    fault,
    node_of,
    task_of,
    who,
)


def test_a_first_exit_without_a_cascade_signature_is_diagnosed_150_ms_later() -> None:
    case = Case()
    (opened,) = case.hear(exit_of(3, signal=9))
    assert isinstance(opened, IncidentOpened)
    assert not case.wait(0.14)
    (verdict,) = case.wait(0.02)
    assert isinstance(verdict, FaultDiagnosed)
    assert (verdict.incident, verdict.attempt, verdict.revision) == (opened.incident, 1, 0)
    assert (verdict.verdict.category, verdict.verdict.culprit) == (Category.UNKNOWN, who(3))
    assert (verdict.node, verdict.task, verdict.cause) == (node_of(3), task_of(3), opened.fault)
    assert verdict.occurred == START
    assert verdict.settle_s == pytest.approx(0.14)


def test_a_victim_seen_first_waits_for_the_cause_and_no_longer() -> None:
    case = Case()
    case.hear(exit_of(0, *PEER_CLOSED))
    assert not case.wait(0.5)
    case.hear(exit_of(3, signal=9, after=-0.1))
    assert not case.wait(0.14)
    (verdict,) = case.wait(0.02)
    assert isinstance(verdict, FaultDiagnosed)
    assert verdict.verdict.culprit == who(3)


def test_victims_behind_the_cause_do_not_put_its_verdict_off() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    for rank in (0, 1):
        case.wait(0.07)
        case.hear(exit_of(rank, *PEER_CLOSED, after=0.07))
    (verdict,) = case.wait(0.02)
    assert isinstance(verdict, FaultDiagnosed)
    assert verdict.settle_s == pytest.approx(0.14)


def test_victims_alone_are_diagnosed_after_two_seconds() -> None:
    case = Case()
    case.hear(*[exit_of(rank, *TIMED_OUT) for rank in (0, 2, 3)])
    assert not case.wait(1.9)
    (verdict,) = case.wait(0.2)
    assert isinstance(verdict, FaultDiagnosed)
    assert (verdict.verdict.category, verdict.verdict.culprit) == (Category.COLLECTIVE_TIMEOUT, who(1))


def test_once_every_rank_is_accounted_for_nothing_is_waited_for() -> None:
    case = Case()
    case.hear(*[exit_of(rank, *PEER_CLOSED) for rank in range(4)])
    (verdict,) = case.wait(0.2)
    assert isinstance(verdict, FaultDiagnosed)
    assert verdict.verdict.culprit is None


@pytest.mark.parametrize("after", [-60, 0.5], ids=["long before", "later by its node's clock"])
def test_a_time_out_on_every_rank_but_the_dead_one_is_one_incident_that_names_it(after: float) -> None:
    case = Case()
    case.hear(*[exit_of(rank, *TIMED_OUT) for rank in (0, 1, 2)], exit_of(3, signal=9, after=after))
    case.wait(3)
    assert (len(case.opened), len(case.verdicts)) == (1, 1)
    verdict = case.verdicts[0].verdict
    assert (verdict.category, verdict.culprit) == (Category.UNKNOWN, who(3))


def test_512_ranks_that_die_of_one_are_one_incident_that_names_it() -> None:
    case = Case(nodes=256)
    case.hear(*[exit_of(rank, *PEER_CLOSED, after=0.1) for rank in range(511)], exit_of(511, signal=9))
    case.wait(3)
    assert len(case.opened) == len(case.verdicts) == 1
    assert case.verdicts[0].verdict.culprit == who(511)
    assert case.fold is not None
    assert len(case.fold.model_dump_json()) < 200_000


def test_two_faults_within_a_second_on_two_nodes_are_one_incident() -> None:
    case = Case()
    case.hear(exit_of(1, signal=9))
    case.wait(0.2)
    case.hear(exit_of(3, signal=9, after=0.3))
    case.wait(3)
    assert len(case.opened) == 1
    assert [verdict.verdict.culprit for verdict in case.verdicts] == [who(1)]


def test_a_settle_deadline_of_an_older_incident_is_not_mistaken() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    old = DeadlinePassed(
        **about("old"), service=Service.DIAGNOSER, scope=JOB.uid, what="settle/1", due=START + timedelta(seconds=0.15)
    )
    case.wait(1)
    case.restart(2)
    case.close()
    case.hear(exit_of(0, *PEER_CLOSED, generation=2))
    assert not case.hear(old)


def test_a_captured_stack_is_told_with_the_verdict() -> None:
    case = Case()
    case.hear(fault(StallEvidence(rank=2, sign=StallSign.OUTLIER, waiting=False), rank=2))
    case.hear(EvidenceCaptured(**about("stack"), rank=2, what="stack", lines=("train.py:load_batch", "train.py:main")))
    case.wait(1)
    assert "stack in train.py:load_batch" in case.verdicts[0].verdict.because


def test_the_last_step_of_any_rank_is_the_step_of_the_verdict() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9, step=None), exit_of(0, *PEER_CLOSED, step=41), exit_of(1, *PEER_CLOSED, step=40))
    case.wait(1)
    assert case.verdicts[0].verdict.step == 41


ONE_DEATH: Sequence[FaultDetected] = (
    exit_of(3, signal=9, after=0.0),
    *[exit_of(rank, *PEER_CLOSED, after=0.05) for rank in range(3)],
    fault(LossEvidence(by=LossCause.UNKNOWN, proven=False), rank=2, name="task worker-1", after=0.2),
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_and_duplicates_of_one_incident_give_one_incident_with_one_culprit(data: st.DataObject) -> None:
    shaken = data.draw(st.permutations([*ONE_DEATH, *data.draw(st.lists(st.sampled_from(ONE_DEATH), max_size=4))]))
    case = Case()
    for one in shaken:
        case.hear(one)
        case.wait(data.draw(st.sampled_from((0.0, 0.01, 0.02))))
    case.wait(3)
    case.hear(*shaken)
    case.wait(3)
    assert len(case.opened) == 1
    assert case.verdicts[-1].verdict.culprit == who(3)
    assert case.verdicts[-1].verdict.category is Category.UNKNOWN
    assert len({verdict.id for verdict in case.verdicts}) == len(case.verdicts)


def test_a_task_that_is_gone_accounts_for_its_ranks() -> None:
    case = Case()
    case.hear(fault(LossEvidence(by=LossCause.UNKNOWN, proven=False), rank=2, name="task worker-1"))
    case.hear(exit_of(0, *PEER_CLOSED), exit_of(1, *PEER_CLOSED))
    (verdict,) = case.wait(0.2)
    assert isinstance(verdict, FaultDiagnosed)
    assert verdict.verdict.culprit == Culprit(node=node_of(2), task=task_of(2))
