"""An incident that nobody acknowledges in time is told to more people, step by step, until somebody does."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import IncidentAcknowledged
from keepstep.contracts.ids import EventId, IncidentId
from keepstep.contracts.notification import Escalation, Route
from keepstep.contracts.taxonomy import Outcome, Severity, Stage
from tests.notifier.story import INCIDENT, JOB, POOL, Desk, accepted, at, closed, diagnosed, opened, route

STEPS = (
    Escalation(after=timedelta(minutes=5), mention=("oncall",)),
    Escalation(after=timedelta(minutes=15), sink="phone", mention=("boss",)),
)
RULE = route("chat", escalate=STEPS)


def acknowledged(seconds: float, incident: str = INCIDENT) -> IncidentAcknowledged:
    return IncidentAcknowledged(
        id=EventId(f"ack-{incident}"), time=at(seconds), pool=POOL, job=JOB, incident=IncidentId(incident), by="alice"
    )


def desk(*rules: Route) -> Desk:
    return Desk("log", "chat", "phone").tell(accepted(*(rules or (RULE,))))


async def test_each_step_tells_more_people_in_the_incidents_own_thread() -> None:
    told = await desk().tell(opened(), diagnosed()).wait(3600)
    chat, phone = told.sinks["chat"], told.sinks["phone"]
    assert [(one.stage, one.sequence) for one in chat.got] == [
        (Stage.OPENED, 1),
        (Stage.DIAGNOSED, 2),
        (Stage.ESCALATED, 3),
    ]
    assert chat.called[-1] == pytest.approx(300, abs=1)
    (called,) = phone.got
    assert phone.called == [pytest.approx(900, abs=1)]
    assert (called.thread, called.sequence, called.severity) == (INCIDENT, 1, Severity.CRITICAL)
    assert called.title == "Nobody has acknowledged: Fault in job train-1"
    assert called.text == f"for 15 min; keepstep incident ack {INCIDENT[:12]} stops this"


async def test_an_acknowledgement_stops_it_also_between_two_steps() -> None:
    told = await (await desk().tell(opened()).wait(400)).tell(acknowledged(400)).wait(3600)
    assert not told.sinks["phone"].got
    assert [one.stage for one in told.sinks["chat"].got] == [Stage.OPENED, Stage.ESCALATED, Stage.ACKNOWLEDGED]


async def test_what_is_said_after_the_acknowledgement_begins_no_new_escalation() -> None:
    told = await desk().tell(opened(), acknowledged(1), diagnosed()).wait(3600)
    assert Stage.ESCALATED not in {one.stage for one in told.sinks["chat"].got}


async def test_the_acknowledgement_of_one_incident_stops_no_other() -> None:
    told = await desk().tell(opened(), opened("other"), acknowledged(1)).wait(3600)
    assert [one.thread for one in told.sinks["phone"].got] == ["other"]


@pytest.mark.parametrize(
    ("outcome", "calls"),
    [(Outcome.RESUMED, 0), (Outcome.CLEARED, 0), (Outcome.JOB_GONE, 0), (Outcome.FAILED, 1)],
)
async def test_an_incident_that_ended_well_needs_nobody_and_one_that_failed_does(outcome: Outcome, calls: int) -> None:
    told = await desk().tell(opened(), closed(outcome)).wait(3600)
    assert len(told.sinks["phone"].got) == calls


async def test_it_begins_with_the_rules_first_message_of_an_incident_and_once() -> None:
    late = diagnosed().model_copy(update={"time": at(200)})
    told = await (await desk().tell(opened()).wait(200)).tell(late).wait(3600)
    assert [round(moment) for moment in told.sinks["phone"].called] == [900]


async def test_a_step_may_go_to_an_address_and_to_the_log() -> None:
    rule = route("log", escalate=(Escalation(after=timedelta(minutes=1)),))
    told = await desk(rule).tell(opened()).wait(100)
    assert [one.stage for one in told.sinks["log"].got] == [Stage.OPENED, Stage.ESCALATED]
