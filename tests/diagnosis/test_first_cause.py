"""First cause over cascade."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from keepstep.contracts.events import FaultDetected, LogEvidence, LossEvidence, NodeEvidence, StallEvidence, Verdict
from keepstep.contracts.taxonomy import Category, LossCause, StallSign
from keepstep.contracts.topology import Culprit
from keepstep.diagnosis.finding import Resumed
from keepstep.diagnosis.verdict import first_cause, weigh
from tests.diagnosis.facts import PEER_CLOSED, TIMED_OUT, exit_of, fault, node_of, raised, task_of, who

WORLD = range(4)
USER_ERROR = raised("ValueError: loss is not finite")


def verdict_on(faults: Sequence[FaultDetected]) -> Verdict:
    findings = [weigh(one, Resumed()) for one in faults]
    heard = {one.culprit.rank for one in findings if one.culprit is not None}
    quiet = [who(rank) for rank in WORLD if rank not in heard]
    return first_cause(findings, quiet=quiet, faults=len(findings), step=30)


@pytest.mark.parametrize(
    ("faults", "category", "culprit"),
    [
        (
            [
                exit_of(0, *PEER_CLOSED, after=0.0),
                exit_of(1, *PEER_CLOSED, after=0.1),
                exit_of(2, *PEER_CLOSED, after=0.1),
                exit_of(3, signal=9, after=0.2),
            ],
            Category.UNKNOWN,
            who(3),
        ),
        (
            [exit_of(0, *PEER_CLOSED), exit_of(1, *USER_ERROR, after=0.5), exit_of(2, *PEER_CLOSED, after=0.6)],
            Category.USER_CODE,
            who(1),
        ),
        (
            [exit_of(1, *USER_ERROR, after=0.0), exit_of(2, signal=9, after=0.7)],
            Category.USER_CODE,
            who(1),
        ),
        (
            [exit_of(0, *TIMED_OUT), exit_of(2, *TIMED_OUT, after=0.1), exit_of(3, *TIMED_OUT, after=0.1)],
            Category.COLLECTIVE_TIMEOUT,
            who(1),
        ),
        (
            [exit_of(0, *PEER_CLOSED), exit_of(1, *PEER_CLOSED)],
            Category.NETWORK,
            Culprit(node=node_of(2), task=task_of(2)),
        ),
        ([exit_of(0, *PEER_CLOSED)], Category.NETWORK, None),
        (
            [
                fault(StallEvidence(rank=2, sign=StallSign.STOPPED), rank=2, after=5.0),
                exit_of(0, *TIMED_OUT, after=1.0),
            ],
            Category.HANG,
            who(2),
        ),
        (
            [
                exit_of(2, signal=15, after=0.0),
                exit_of(3, signal=9, after=3.0),
                fault(LossEvidence(by=LossCause.DELETED, proven=True), rank=2, after=3.1, name="task worker-1"),
            ],
            Category.DELETED,
            Culprit(node=node_of(2), task=task_of(2)),
        ),
        (
            [
                exit_of(1, *raised("RuntimeError: CUDA error: unspecified"), after=0.0),
                fault(
                    LogEvidence(
                        rank=1, rule="gpu-ecc", category=Category.DEVICE_HARDWARE, line="uncorrectable ECC error"
                    ),
                    rank=1,
                    after=0.2,
                ),
            ],
            Category.DEVICE_HARDWARE,
            who(1),
        ),
        (
            [
                exit_of(3, signal=9, after=0.0),
                exit_of(0, *PEER_CLOSED, after=0.1),
                fault(
                    NodeEvidence(condition="oom", text="Out of memory: Killed process 27455 (python3)"),
                    rank=3,
                    after=0.5,
                    name="node node-1",
                ),
            ],
            Category.OOM_HOST,
            who(3),
        ),
        ([exit_of(1, signal=15)], Category.UNKNOWN, who(1)),
    ],
    ids=[
        "a kill beats resets seen earlier",
        "an exception beats a reset seen earlier",
        "of two causes the first",
        "the only rank that does not time out",
        "the only task that says nothing",
        "a lone reset blames nobody",
        "a stopped rank beats the time-outs it causes",
        "a deletion explains the exits before it",
        "exit 1 and an ECC line",
        "the kernel's memory line explains the kill on its node",
        "a lone stop",
    ],
)
def test_the_first_cause_wins(faults: list[FaultDetected], category: Category, culprit: Culprit | None) -> None:
    verdicts = [verdict_on(order) for order in permutations(faults)]
    assert {verdict.category for verdict in verdicts} == {category}
    assert {verdict.culprit for verdict in verdicts} == {culprit}


def test_unknown_and_peoples_own_failures_and_network_errors_never_isolate() -> None:
    for faults in ([exit_of(3, signal=9)], [exit_of(1, *USER_ERROR)], [exit_of(0, *PEER_CLOSED)]):
        assert not verdict_on(faults).isolate


def test_a_lost_node_is_isolated_and_the_sentence_counts_what_follows_from_it() -> None:
    lost = fault(LossEvidence(by=LossCause.NODE_LOST, proven=True), rank=2, name="task worker-1", after=2.0)
    verdict = verdict_on([exit_of(0, *PEER_CLOSED), exit_of(1, *PEER_CLOSED), lost])
    assert verdict.isolate
    assert verdict.culprit == Culprit(node=node_of(2), task=task_of(2))
    assert "outweighs 2 other faults" in verdict.because


def test_a_cause_that_no_restart_mends_is_not_retriable_with_all_its_ranks() -> None:
    faults = [exit_of(rank, "python: No module named absent", step=None) for rank in WORLD]
    assert not verdict_on(faults).retriable
    assert verdict_on([exit_of(1, *USER_ERROR)]).retriable


def test_the_last_line_of_the_traceback_is_the_signature() -> None:
    assert verdict_on([exit_of(1, *USER_ERROR)]).signature == "ValueError: loss is not finite"
