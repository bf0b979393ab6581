"""A fold is dropped a day after its job or its node's last fault; what comes later leaves nothing behind."""

from datetime import datetime, timedelta

from keepstep.contracts.events import (
    DeadlinePassed,
    DeviceEvidence,
    FaultDetected,
    JobFailed,
)
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Category, Service
from keepstep.diagnoser.core import deadlines, decide, over
from tests.diagnoser.story import Case, about
from tests.diagnosis.facts import (
    JOB,
    START,
    exit_of,
)


def test_a_job_that_ended_is_forgotten_a_day_later() -> None:
    case = Case()
    case.hear(JobFailed(**about("failed"), category=Category.UNKNOWN, because="x"))
    case.wait(86_399)
    assert case.fold is not None
    assert not over(case.fold)
    assert not case.wait(2)
    assert over(case.fold)
    assert not list(deadlines(case.fold))


def test_a_node_is_forgotten_a_day_after_its_last_fault() -> None:
    evidence = DeviceEvidence(device="gpu-0", code="79")

    def of_node(name: str) -> FaultDetected:
        fields = about(name) | {"job": None, "generation": None, "node": NodeName("n9")}
        return FaultDetected(**fields, subject_name="node n9", occurred=START, evidence=evidence, because="b")

    def passed(due: datetime) -> DeadlinePassed:
        fields = about(str(due)) | {"job": None, "time": due}
        return DeadlinePassed(**fields, service=Service.DIAGNOSER, scope="n9", what="forget", due=due)

    fold = decide(None, of_node("first"), START).state
    (first,) = deadlines(fold)
    fold = decide(fold, of_node("second"), START + timedelta(hours=1)).state
    fold = decide(fold, passed(first.due), first.due).state
    assert not over(fold)
    (second,) = deadlines(fold)
    assert second.due - first.due == timedelta(hours=1)
    assert over(decide(fold, passed(second.due), second.due).state)
    assert over(decide(None, passed(second.due), second.due).state), "a deadline that comes twice leaves nothing behind"


def test_a_fault_of_a_job_that_is_not_known_opens_nothing_and_is_forgotten() -> None:
    stray = decide(None, exit_of(3, signal=9), START)
    assert not stray.says
    (deadline,) = deadlines(stray.state)
    fields = about("passed") | {"time": deadline.due}
    passed = DeadlinePassed(**fields, service=Service.DIAGNOSER, scope=JOB.uid, what=deadline.what, due=deadline.due)
    assert over(decide(stray.state, passed, deadline.due).state)
