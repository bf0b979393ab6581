"""An incident's timeline is a fold of the stream: complete, ordered, and its stages add up."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit, JobRef, JobSpec, Script
from keepstep.core import ettr, timeline
from tests.contracts.examples import example

START = datetime(2026, 1, 1, tzinfo=UTC)
JOB = JobRef(name="train", uid=JobUid("j"))
INCIDENT = IncidentId("i1")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def fields(name: str, seconds: float, **more: object) -> dict[str, object]:
    return {"id": EventId(name), "time": at(seconds), "pool": Pool("p"), "job": JOB, **more}


def fault(seconds: float = 10.0) -> e.FaultDetected:
    return e.FaultDetected.model_validate(
        fields(
            "fault",
            seconds + 0.1,
            subject_name="rank 3",
            occurred=at(seconds),
            evidence=e.ExitEvidence(rank=3, exit=Exit(signal=9), step=30),
            because="rank 3 was killed",
        )
    )


def opened() -> e.IncidentOpened:
    return e.IncidentOpened.model_validate(
        fields("opened", 10.1, incident=INCIDENT, fault="fault", because="first fault of the job")
    )


def diagnosed() -> e.FaultDiagnosed:
    verdict = e.Verdict(
        category=Category.UNKNOWN,
        culprit=Culprit(rank=3, task=TaskUid("t1"), node=NodeName("n2")),
        confidence=0.5,
        because="SIGKILL from outside",
        rule="exit",
        step=30,
    )
    return e.FaultDiagnosed.model_validate(
        fields(
            "diagnosed",
            10.3,
            incident=INCIDENT,
            verdict=verdict,
            faults=("fault",),
            occurred=at(10),
            detected=at(10.1),
        )
    )


def planned() -> e.RecoveryPlanned:
    return e.RecoveryPlanned.model_validate(
        fields("planned", 10.4, incident=INCIDENT, attempt=1, level=Level.IN_PLACE, to_generation=2, because="mildest")
    )


def resumed() -> e.JobResumed:
    return e.JobResumed.model_validate(
        fields("resumed", 12, incident=INCIDENT, attempt=1, level="in-place", step=21, lost_steps=10, because="ok")
    )


def closed(*, accounts: bool = True) -> e.IncidentClosed:
    parts = e.Accounts(
        detect_s=0.1,
        decide_s=0.3,
        isolate_s=0,
        reschedule_s=0.6,
        init_s=0.5,
        load_s=0.1,
        first_step_s=0.4,
        recompute_s=2,
        wall_s=4,
        lost_steps=10,
    )
    return e.IncidentClosed.model_validate(
        fields(
            "closed",
            12.0,
            incident=INCIDENT,
            outcome=Outcome.RESUMED if accounts else Outcome.FAILED,
            category=Category.UNKNOWN,
            levels=(Level.IN_PLACE,),
            attempts=1,
            accounts=parts if accounts else None,
            because="stepping again",
        )
    )


def story(*, accounts: bool = True) -> list[Message]:
    return [fault(), opened(), diagnosed(), planned(), resumed(), closed(accounts=accounts)]


def told(messages: list[Message]) -> timeline.Record:
    record = timeline.Record()
    for message in messages:
        record = timeline.tell(record, message)
    return record


def test_an_incident_tells_what_who_why_level_and_cost() -> None:
    (incident,) = told(story()).incidents
    assert incident.category is Category.UNKNOWN
    assert incident.culprit is not None
    assert (incident.culprit.rank, incident.culprit.node) == (3, "n2")
    assert incident.levels == (Level.IN_PLACE,)
    assert incident.lost_steps == 10
    assert incident.outcome is Outcome.RESUMED
    assert incident.occurred == at(10)


def test_the_fault_that_opened_an_incident_is_its_first_entry() -> None:
    (incident,) = told(story()).incidents
    assert [entry.what for entry in incident.entries[:2]] == ["FaultDetected", "IncidentOpened"]
    assert "rank 3 was killed" in incident.entries[0].text


def test_what_went_to_people_as_it_should_is_no_step_and_what_did_not_is() -> None:
    """Half of what was shown of an incident were the messages about it."""
    sent: list[Message] = []
    for kind in (e.NotificationQueued, e.NotificationDelivered, e.NotificationDropped):
        message = example(kind)
        assert isinstance(message, kind)
        sent.append(message.model_copy(update=fields(kind.__name__, 11, incident=INCIDENT)))
    (incident,) = told([*story()[:3], *sent]).incidents
    assert [entry.what for entry in incident.entries[3:]] == ["NotificationDropped"]


@pytest.mark.parametrize("accounts", [True, False])
def test_the_stages_add_up_to_the_wall_time(accounts: bool) -> None:
    (incident,) = told(story(accounts=accounts)).incidents
    assert sum(stage.seconds for stage in incident.stages) == pytest.approx(incident.wall_s)
    assert incident.wall_s == pytest.approx(4 if accounts else 2)


@given(st.lists(st.sampled_from(range(6)), max_size=12))
def test_messages_told_again_change_nothing(again: list[int]) -> None:
    messages = story()
    once = told(messages)
    assert told(messages + [messages[index] for index in again]).incidents == once.incidents


def test_a_level_that_failed_stays_in_the_chain() -> None:
    worse = planned().model_copy(update={"id": EventId("planned2"), "level": Level.POD, "time": at(11)})
    (incident,) = told([fault(), opened(), diagnosed(), planned(), worse]).incidents
    assert incident.levels == (Level.IN_PLACE, Level.POD)
    assert incident.closed is None


def run_of(messages: list[Message]) -> ettr.Run:
    run = ettr.Run()
    for message in messages:
        run = ettr.tell(run, message)
    return run


def life(until: float) -> list[Message]:
    spec = JobSpec(name="train", entrypoint=Script(path="/t.py"), nodes=2)
    steps = [
        e.FirstStepDone.model_validate(fields(f"first{task}", 4 + task, task=f"t{task}", step=1)) for task in (0, 1)
    ]
    accepted = e.JobAccepted.model_validate(fields("accepted", 0, spec=spec))
    return [accepted, *steps, *story(), e.JobSucceeded.model_validate(fields("done", until))]


def test_ettr_leaves_out_start_outage_and_recomputation() -> None:
    result = ettr.ratio(run_of(life(25)), now=at(99))
    assert (result.wall_s, result.startup_s, result.lost_s) == (25, 5, 4)
    assert result.productive_s == pytest.approx(16)
    assert result.ettr == pytest.approx(16 / 25)


def test_outages_that_overlap_count_once() -> None:
    other = IncidentId("i2")
    twin: list[Message] = [
        diagnosed().model_copy(update={"incident": other, "id": EventId("d2"), "occurred": at(11)}),
        resumed().model_copy(update={"incident": other, "id": EventId("r2"), "time": at(13)}),
    ]
    assert ettr.ratio(run_of([*life(25), *twin]), now=at(25)).lost_s == pytest.approx(4)


def test_an_open_outage_lasts_until_now() -> None:
    run = run_of([*life(25)[:3], fault(), opened(), diagnosed()])
    assert ettr.ratio(run, now=at(20)).lost_s == pytest.approx(10)


def test_a_job_that_never_stepped_has_no_effective_time() -> None:
    result = ettr.ratio(run_of(life(25)[:1]), now=at(7))
    assert (result.ettr, result.known) == (0, False)


def test_a_job_that_failed_before_its_first_step_has_no_effective_time() -> None:
    """A script that loaded for five seconds and fell over was told to have trained for five seconds."""
    begun = e.JobStarted.model_validate(fields("started", 5, generation=1, placement=()))
    ended = e.JobFailed.model_validate(fields("failed", 11, category=Category.USER_CODE, because="KeyError"))
    result = ettr.ratio(run_of([life(25)[0], begun, fault(), opened(), diagnosed(), ended]), now=at(99))
    assert (result.ettr, result.startup_s, result.lost_s, result.known) == (0, 10, 1, True)


def test_a_job_without_step_marks_was_effective_once_it_succeeded() -> None:
    begun = e.JobStarted.model_validate(fields("started", 5, generation=1, placement=()))
    done = e.JobSucceeded.model_validate(fields("done", 20))
    assert ettr.ratio(run_of([life(25)[0], begun]), now=at(15)).productive_s == 0
    assert ettr.ratio(run_of([life(25)[0], begun, done]), now=at(99)).productive_s == 15


def test_a_second_fault_of_an_incident_is_no_late_detection_of_the_first() -> None:
    again = fault(14).model_copy(update={"id": EventId("again")})
    verdict = diagnosed().model_copy(
        update={"id": EventId("d2"), "time": at(14.4), "faults": ("again",), "occurred": at(14), "attempt": 2}
    )
    end = e.IncidentClosed.model_validate(
        fields("closed", 15, incident=INCIDENT, outcome=Outcome.FAILED, category=Category.UNKNOWN, because="the same")
    )
    (incident,) = told([fault(), opened(), diagnosed(), again, verdict, end]).incidents
    stages = {stage.name: stage.seconds for stage in incident.stages}
    assert stages["detect"] == pytest.approx(0.1)
    assert sum(stages.values()) == pytest.approx(5)


def test_an_incident_keeps_the_last_lines_of_the_rank_to_blame() -> None:
    words = ("Traceback (most recent call last):", "ValueError: bad sample")
    seen = e.ExitEvidence(rank=3, exit=Exit(code=1), last_lines=words)
    other = e.ExitEvidence(rank=1, exit=Exit(code=1), last_lines=("Connection reset by peer",))
    blamed = fault().model_copy(update={"evidence": seen})
    victim = fault(10.05).model_copy(update={"id": EventId("victim"), "evidence": other})
    verdict = diagnosed().model_copy(update={"faults": ("victim", "fault")})
    (incident,) = told([victim, blamed, opened(), verdict]).incidents
    assert incident.last_lines == words
