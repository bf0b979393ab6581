"""SMS and calls from the rule to the gateway: one short message of an incident, a call only where it is worth one."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from keepstep.adapters.channel_directory import ChannelDirectory
from keepstep.adapters.channel_file import Held
from keepstep.adapters.sink_log import LogSink
from keepstep.contracts.channels import Channels
from keepstep.contracts.events import NotificationDelayed, NotificationDelivered, NotificationDropped
from keepstep.contracts.ids import EventId, JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.notification import Escalation, Route
from keepstep.contracts.taxonomy import Outcome, Severity
from keepstep.contracts.topology import JobRef
from tests.notifier.story import Desk, accepted, closed, diagnosed, failed, opened, route
from tests.people.notices import HERE
from tests.people.test_gateways import ANSWER, BODY
from tests.people.vendors.gateway import Gateway
from tests.people.vendors.server import running

LI, WANG = "+8613800000000", "13900000000"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running(Gateway()) as server:
        yield server


def desk(gateway: Gateway, kind: str, *rules: Route, **fields: Any) -> Desk:
    """Return a notifier whose channel ``tel`` calls the gateway, for a job with these rules."""
    call = {"body": BODY, "answer": ANSWER}
    tel = {"name": "tel", "kind": kind, "url": gateway.url, "to": [LI], "call": call, "longest": 70} | fields
    people = {"wang": {"mobile": WANG}}
    channels = Channels.model_validate({"channels": [tel], "people": people, "allow": HERE})
    told = Desk("log", channels=channels)
    find = ChannelDirectory(Held(channels), LogSink(), told.clock, limit=timedelta(seconds=5))
    told.sinks["tel"] = find("tel")  # type: ignore[assignment]  # the sink itself, in the place of one that records
    return told.tell(accepted(*(rules or (route("tel"),))))


def texts(gateway: Gateway) -> list[str]:
    return [asked.json["text"] for asked in gateway.taken]


async def test_an_incident_is_one_short_message_whatever_is_said_of_it(gateway: Gateway) -> None:
    told = desk(gateway, "sms")
    for message in (opened(), diagnosed(), closed(), opened("other-incident"), closed(Outcome.FAILED)):
        await told.tell(message).deliver()
    assert texts(gateway) == [
        "[keepstep] Fault in job train-1: rank 3 was killed incident",
        "[keepstep] Fault in job train-1: rank 3 was killed other-in",
    ]
    assert [asked.json["to"] for asked in gateway.taken] == [[LI], [LI]]
    assert {type(one) for one in told.endings} == {NotificationDelivered}
    assert {one.code for one in told.endings} == {"OK"}


async def test_only_the_message_that_is_bad_enough_is_sent_where_the_channel_says_so(gateway: Gateway) -> None:
    told = await desk(gateway, "sms", minimum="critical").tell(opened(), diagnosed(), closed(Outcome.FAILED)).deliver()
    assert len(texts(gateway)) == 1
    assert texts(gateway)[0].startswith("[keepstep] Incident of job train-1 closed: failed")
    assert len(told.endings) == 1


async def test_a_phone_rings_for_what_is_critical_and_for_nothing_else(gateway: Gateway) -> None:
    told = desk(gateway, "phone")
    await told.tell(opened(), diagnosed()).deliver()
    assert gateway.asked == []
    await told.tell(failed()).deliver()
    assert texts(gateway) == ["keepstep. Job train-1 failed: user_code. KeyError twice"]


async def test_a_phone_rings_from_the_severity_on_that_its_channel_names(gateway: Gateway) -> None:
    await desk(gateway, "phone", minimum="warning").tell(opened()).deliver()
    assert len(gateway.taken) == 1


async def test_a_rule_can_ask_for_more_than_the_channel_does(gateway: Gateway) -> None:
    rule = route("tel", Severity.CRITICAL)
    told = await desk(gateway, "sms", rule).tell(opened(), diagnosed()).deliver()
    assert gateway.asked == []
    await told.tell(failed()).deliver()
    assert len(gateway.taken) == 1


async def test_each_step_of_an_escalation_rings_and_calls_whom_it_names(gateway: Gateway) -> None:
    steps = (
        Escalation(after=timedelta(minutes=5), sink="tel"),
        Escalation(after=timedelta(minutes=15), sink="tel", mention=("wang",)),
    )
    await desk(gateway, "phone", route("log", escalate=steps)).tell(opened()).wait(3600)
    assert [asked.json["to"] for asked in gateway.taken] == [[LI], [LI, WANG]]
    assert texts(gateway)[0].startswith("keepstep. Nobody has acknowledged: Fault in job train-1")


async def test_what_the_gateway_limits_is_tried_again_and_sent_once(gateway: Gateway) -> None:
    gateway.forced.append((200, {}, {"Code": "isv.BUSINESS_LIMIT_CONTROL"}))
    told = await desk(gateway, "sms").tell(opened(), diagnosed()).wait(120)
    assert len(gateway.taken) == 1
    (late,) = [one for one in told.said if isinstance(one, NotificationDelayed)]
    assert late.code == "isv.BUSINESS_LIMIT_CONTROL"


async def test_a_message_that_the_gateway_never_takes_lets_the_incidents_next_one_go_out(gateway: Gateway) -> None:
    gateway.forced.append((200, {}, {"Code": "isv.AMOUNT_NOT_ENOUGH"}))
    told = await desk(gateway, "sms").tell(opened()).deliver()
    (dropped,) = told.endings
    assert isinstance(dropped, NotificationDropped)
    assert dropped.code == "isv.AMOUNT_NOT_ENOUGH"
    assert told.letters[0][1].endswith("(code isv.AMOUNT_NOT_ENOUGH)")
    await told.tell(diagnosed()).deliver()
    assert texts(gateway)[0].startswith("[keepstep] Cause in job train-1")


async def test_a_storm_of_incidents_is_a_few_short_messages_with_the_start_of_every_id(gateway: Gateway) -> None:
    told = desk(gateway, "sms", limit={"per_minute": 10})
    incidents = [f"{number:08x}-storm" for number in range(60)]
    for number, incident in enumerate(incidents):
        told.tell(of_job(accepted(route("tel")), number), of_job(opened(incident), number))
    await told.wait(600)
    assert [one for one in incidents if not any(one[:8] in text for text in texts(gateway))] == []
    assert max(map(len, texts(gateway))) <= 70
    assert len(gateway.taken) < len(incidents) / 2


def of_job(message: Message, number: int) -> Message:
    job = JobRef(name=f"train-{number}", uid=JobUid(f"job-{number}"))
    return message.model_copy(update={"job": job, "id": EventId(f"{message.id}-{number}")})
