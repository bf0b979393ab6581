"""Tasks are matched by uid, hardware by who runs there now; what no job runs on any more is judged alone."""

import pytest

from keepstep.contracts.events import (
    DeviceEvidence,
    Evidence,
    FaultDetected,
    FaultDiagnosed,
    IncidentOpened,
    LossEvidence,
    NodeEvidence,
    RecoveryPlanned,
    SilenceEvidence,
)
from keepstep.contracts.ids import NodeName, incident_id
from keepstep.contracts.taxonomy import Category, Level, LossCause
from keepstep.diagnoser.core import JobFold, decide, fold_key
from keepstep.diagnosis.finding import Resumed
from keepstep.diagnosis.verdict import weigh
from tests.diagnoser.story import Case, about
from tests.diagnosis.facts import (
    JOB,
    PEER_CLOSED,
    START,
    exit_of,
    fault,
    node_of,
    task_of,
)


def test_a_lost_task_is_matched_by_placement_and_not_by_generation() -> None:
    case = Case()
    case.hear(exit_of(0, *PEER_CLOSED))
    case.wait(3)
    case.restart(2)
    lost = LossEvidence(by=LossCause.NODE_LOST, proven=True)
    case.hear(fault(lost, rank=2, name="task worker-1"))
    case.wait(3)
    assert [(v.attempt, v.verdict.category) for v in case.verdicts] == [
        (1, Category.NETWORK),
        (2, Category.NODE_HARDWARE),
    ]


def test_a_lost_task_that_is_being_replaced_changes_nothing() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    replaced = RecoveryPlanned(
        **about("pod"), attempt=1, level=Level.POD, to_generation=2, replace=(task_of(3),), because="x"
    )
    case.hear(replaced)
    lost = LossEvidence(by=LossCause.NODE_LOST, proven=True)
    assert not case.hear(fault(lost, rank=2, name="task worker-1", after=2))
    assert len(case.verdicts) == 1


def test_a_lost_node_that_still_settles_is_judged_though_its_task_is_replaced_already() -> None:
    case = Case()
    case.hear(exit_of(3, signal=9))
    case.wait(1)
    case.restart(2)
    loss = LossEvidence(by=LossCause.NODE_LOST, proven=True)
    case.hear(fault(loss, rank=2, generation=2), exit_of(0, signal=11, generation=2))
    case.restart(3)
    case.wait(1)
    assert [(v.attempt, v.verdict.category, len(v.faults)) for v in case.verdicts] == [
        (1, Category.UNKNOWN, 1),
        (2, Category.NODE_HARDWARE, 1),
    ]
    assert case.verdicts[-1].verdict.isolate


XID = DeviceEvidence(device="gpu-0", code="79", text="NVRM: Xid (PCI:1): 79, GPU has fallen off the bus")


FAN = NodeEvidence(condition="fan")


LOSS = LossEvidence(by=LossCause.NODE_LOST, proven=True)


QUIET = SilenceEvidence(silent_s=10)


THERE, GONE, ELSEWHERE = "the job's", "nobody's", "the node's"


FACTS: list[tuple[str, Evidence, bool, bool, str]] = [
    ("a device of the node", XID, False, False, THERE),
    ("a device of a node that the job left", XID, True, True, ELSEWHERE),
    ("a device told by a task that was replaced on its node", XID, True, False, THERE),
    ("a condition of the node", FAN, False, False, THERE),
    ("a condition of a node that the job left", FAN, True, True, ELSEWHERE),
    ("a condition told by a task that was replaced on its node", FAN, True, False, THERE),
    ("a task that is lost", LOSS, False, False, THERE),
    ("a lost task that was replaced", LOSS, True, True, GONE),
    ("a lost task that was replaced on its node", LOSS, True, False, GONE),
    ("a silent agent", QUIET, False, False, THERE),
    ("a silent agent of a task that was replaced", QUIET, True, False, GONE),
]


@pytest.mark.parametrize(
    ("evidence", "replaced", "left", "whose"), [row[1:] for row in FACTS], ids=[r[0] for r in FACTS]
)
def test_tasks_are_matched_by_uid_and_hardware_by_the_current_placement(
    evidence: Evidence, replaced: bool, left: bool, whose: str
) -> None:
    case = Case()
    if replaced:
        case.hear(exit_of(0, signal=9))
        case.wait(1)
        case.restart(2, moved=1, away=left)
        case.close()
        case.said.clear()
    case.hear(fault(evidence, rank=2, name="task worker-1", generation=2 if replaced else 1))
    case.wait(3)
    jobs = {THERE: [JOB], GONE: [], ELSEWHERE: [None]}[whose]
    assert [verdict.job for verdict in case.verdicts] == [opened.job for opened in case.opened] == jobs
    assert [verdict.verdict.category for verdict in case.verdicts] == [
        weigh(fault(evidence, rank=2), Resumed()).category for _ in jobs
    ]


def test_a_device_where_the_job_runs_no_more_is_isolated_and_restarts_nothing() -> None:
    case = Case()
    case.restart(2, moved=1, away=True)
    xid = fault(XID, rank=2, name="device gpu-0")
    opened, verdict = case.hear(xid)
    assert isinstance(verdict, FaultDiagnosed)
    assert (verdict.job, verdict.task, verdict.generation, verdict.node) == (None, None, None, node_of(2))
    assert verdict.verdict.isolate
    assert opened.incident == verdict.incident == incident_id(node_of(2), xid.id)
    assert not case.hear(xid)
    assert not case.wait(5)


def test_a_fault_of_a_node_without_a_job_is_judged_at_once_and_once() -> None:
    evidence = DeviceEvidence(device="gpu-0", code="79", text="NVRM: Xid (PCI:1): 79, GPU has fallen off the bus")
    fields = about("xid", 1) | {"job": None, "generation": None, "node": NodeName("n9")}
    fault = FaultDetected(**fields, subject_name="node n9", occurred=START, evidence=evidence, because="b")
    assert fold_key(fault) == "n9"
    first = decide(None, fault, START)
    opened, said = first.says
    assert isinstance(opened, IncidentOpened)
    assert isinstance(said, FaultDiagnosed)
    assert (said.job, said.node, said.incident) == (None, "n9", opened.incident)
    assert opened.incident == incident_id(NodeName("n9"), fault.id)
    assert (said.verdict.category, said.verdict.isolate) == (Category.DEVICE_HARDWARE, True)
    assert not decide(JobFold.model_validate_json(first.state.model_dump_json()), fault, START).says
