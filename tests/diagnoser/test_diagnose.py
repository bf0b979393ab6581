"""One incident per cause, one verdict per attempt, revised only by what changes it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.events import (
    CheckpointChosen,
    DeadlinePassed,
    DeviceEvidence,
    Evidence,
    EvidenceCaptured,
    FaultCleared,
    FaultDetected,
    FaultDiagnosed,
    IncidentAcknowledged,
    IncidentClosed,
    IncidentOpened,
    IncidentOverdue,
    JobAccepted,
    JobFailed,
    JobStarted,
    LossEvidence,
    NodeEvidence,
    Placed,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
    SilenceEvidence,
    StallEvidence,
)
from keepstep.contracts.ids import EventId, NodeName, Pool, derive, incident_id
from keepstep.contracts.message import Message
from keepstep.contracts.orders import AckIncident
from keepstep.contracts.policy import RecoveryPolicy
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome, Phase, Service, StallSign
from keepstep.contracts.topology import Command, Culprit, JobSpec, TaskRef
from keepstep.diagnoser.core import JobFold, deadlines, decide, fold_key, over
from keepstep.diagnosis.finding import Resumed
from keepstep.diagnosis.verdict import weigh
from tests.diagnosis.facts import (
    JOB,
    NPROC,
    PEER_CLOSED,
    START,
    TIMED_OUT,
    exit_of,
    fault,
    node_of,
    raised,
    task_of,
    who,
)

USER_ERROR = raised("ValueError: bad batch")


def about(what: str, generation: int = 1) -> dict[str, Any]:
    """Return an envelope of the job."""
    identity = EventId(derive(what, generation))
    return {"id": identity, "time": START, "pool": Pool("default"), "job": JOB, "generation": generation}


def placement(nodes: int, incarnation: str = "") -> tuple[Placed, ...]:
    return tuple(
        Placed(
            task=TaskRef(name=f"worker-{i}", uid=task_of(i * NPROC) + incarnation, index=i),
            node=node_of(i * NPROC),
            ranks=tuple(range(i * NPROC, (i + 1) * NPROC)),
        )
        for i in range(nodes)
    )


@dataclass
class Case:
    """The diagnoser's fold of one job, the clock of its stream and all it said."""

    nodes: int = 2
    fold: JobFold | None = None
    now: datetime = START
    said: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        spec = JobSpec(name="train", entrypoint=Command(argv=("x",)), nodes=self.nodes, nproc=NPROC)
        self.hear(
            JobAccepted(**about("accepted"), spec=spec), JobStarted(**about("s"), placement=placement(self.nodes))
        )

    def hear(self, *messages: Message) -> list[Message]:
        """Decide on the messages at the present moment and return what was said."""
        before = len(self.said)
        for message in messages:
            assert fold_key(message) == JOB.uid
            decision = decide(self.fold, message, self.now)
            self.fold = JobFold.model_validate_json(decision.state.model_dump_json())
            self.said.extend(decision.says)
        return self.said[before:]

    def wait(self, seconds: float) -> list[Message]:
        """Let time pass and deadlines with it."""
        assert self.fold is not None
        until = self.now + timedelta(seconds=seconds)
        before = len(self.said)
        for deadline in list(deadlines(self.fold)):
            if deadline.due <= until:
                self.now = max(self.now, deadline.due)
                fields = about(deadline.what) | {"time": self.now}
                self.hear(
                    DeadlinePassed(
                        **fields, service=Service.DIAGNOSER, scope=JOB.uid, what=deadline.what, due=deadline.due
                    )
                )
        self.now = until
        return self.said[before:]

    def restart(self, to: int, *, resume: int | None = 20, moved: int | None = None, away: bool = True) -> None:
        """Let the recovery of the attempt begin generation ``to``, with the task ``moved`` replaced, ``away`` if so."""
        planned = RecoveryPlanned(
            **about("plan", to), attempt=1, level=Level.IN_PLACE, to_generation=to, resume_step=resume, because="x"
        )
        choice = CheckpointChosen(**about("choice", to), step=resume, path=f"/c/step_{resume}.pt", because="newest")
        started = RecoveryStarted(
            **about("started", to), attempt=1, level=Level.IN_PLACE, from_generation=to - 1, to_generation=to
        )
        places = placement(self.nodes)
        if moved is not None:
            former = places[moved]
            planned = planned.model_copy(update={"replace": (former.task.uid,)})
            ref = former.task.model_copy(update={"uid": f"{former.task.uid}-{to}"})
            new = former.model_copy(update={"task": ref, "node": NodeName("spare") if away else former.node})
            places = (*places[:moved], new, *places[moved + 1 :])
        self.hear(choice, planned, started, RanksStarted(**about("ranks", to), attempt=1, placement=places))

    def close(self, outcome: Outcome = Outcome.RESUMED) -> None:
        """Close the open incident."""
        assert self.fold is not None
        assert self.fold.incident is not None
        incident = self.fold.incident.id
        self.hear(
            IncidentClosed(
                **about(f"closed {incident}"),
                incident=incident,
                outcome=outcome,
                category=Category.UNKNOWN,
                because="x",
            )
        )

    @property
    def opened(self) -> list[IncidentOpened]:
        """Incidents opened so far."""
        return [message for message in self.said if isinstance(message, IncidentOpened)]

    @property
    def verdicts(self) -> list[FaultDiagnosed]:
        """Verdicts said so far."""
        return [message for message in self.said if isinstance(message, FaultDiagnosed)]


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
