"""Who was told of a thread is told how it ends: as loud as the loudest thing told there, and nobody else is told."""

from datetime import time, timedelta
from typing import Any

import pytest

from keepstep.contracts.channel_kinds import LogChannel, Phone, Sms, WeCom
from keepstep.contracts.channel_parts import QuietHours
from keepstep.contracts.channels import Channels
from keepstep.contracts.events import (
    Accounts,
    DetectorBlinded,
    DetectorSighted,
    IncidentAcknowledged,
    IncidentOverdue,
    JobResumed,
    JobStarted,
    JobWaiting,
    NodeIsolated,
    NodeReleased,
    NotificationQueued,
    RecoveryPlanned,
)
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.notification import Escalation
from keepstep.contracts.taxonomy import AlertKind, Category, ChannelKind, Level, Outcome, Severity, Stage
from keepstep.contracts.topology import JobRef
from tests.notifier.story import (
    HOOK,
    INCIDENT,
    JOB,
    NOW,
    POOL,
    Desk,
    accepted,
    at,
    closed,
    diagnosed,
    opened,
    plain,
    route,
)

NIGHT = QuietHours(start=time(0), end=time(7))
ROBOT = WeCom.model_validate({"name": "chat", "kind": "wecom", "url": "https://chat.example/send?key=s3cret"})
SMS = Sms.model_validate({"name": "chat", "kind": "sms", "url": "https://sms.example/send", "to": ["10086"]})
PHONE = Phone.model_validate({"name": "chat", "kind": "phone", "url": "https://sms.example/call", "to": ["10086"]})
LOUD = Severity.CRITICAL


def said(message: Message, seconds: float) -> Message:
    return message.model_copy(update={"time": at(seconds)})


def planned() -> RecoveryPlanned:
    return RecoveryPlanned(
        id=EventId("planned"), time=NOW, pool=POOL, job=JOB, incident=INCIDENT, attempt=1, level=Level.IN_PLACE,
        to_generation=2, because="crash starts in place",
    )  # fmt: skip


def resumed() -> JobResumed:
    return JobResumed(
        id=EventId("resumed"), time=NOW, pool=POOL, job=JOB, incident=INCIDENT, level=Level.IN_PLACE, attempt=1, step=9,
        because="all tasks step", lost_steps=3,
    )  # fmt: skip


def overdue() -> IncidentOverdue:
    return IncidentOverdue(
        id=EventId("overdue"), time=NOW, pool=POOL, job=JOB, incident=INCIDENT, opened=NOW, because="past its deadlines"
    )


def acknowledged() -> IncidentAcknowledged:
    return IncidentAcknowledged(id=EventId("ack"), time=NOW, pool=POOL, job=JOB, incident=INCIDENT, by="li")


def stages(told: Desk, sink: str = "chat") -> list[Stage]:
    return [one.stage for one in told.sinks[sink].got]


def desk(channel: Any = None, **rule: Any) -> Desk:
    there = Channels(channels=(channel or plain("chat"),))
    return Desk("log", channels=there).tell(accepted(route("chat", **rule)))


RECOVERY = (opened(), diagnosed(), planned(), resumed(), closed())


@pytest.mark.parametrize("sink", ["chat", HOOK])
async def test_a_thread_that_a_rule_opened_above_its_minimum_gets_its_end(sink: str) -> None:
    told = await Desk(sink).tell(accepted(route(sink, Severity.WARNING)), *RECOVERY).deliver()
    assert stages(told, sink) == [Stage.OPENED, Stage.DIAGNOSED, Stage.RESUMED, Stage.CLOSED]


async def test_a_rule_that_is_told_of_the_critical_alone_hears_the_end_of_that_and_of_nothing_else() -> None:
    told = await desk(minimum=LOUD).tell(*RECOVERY).deliver()
    assert stages(told) == []
    told = await desk(minimum=LOUD).tell(opened(), overdue(), planned(), resumed(), closed()).deliver()
    assert stages(told) == [Stage.OVERDUE, Stage.RESUMED, Stage.CLOSED]


async def test_a_channels_own_minimum_takes_the_end_of_what_it_took_and_of_nothing_else() -> None:
    robot = ROBOT.model_copy(update={"minimum": LOUD})
    told = await desk(robot).tell(*RECOVERY).deliver()
    assert stages(told) == []
    told = await desk(robot).tell(opened(), overdue(), planned(), resumed(), closed()).deliver()
    assert stages(told) == [Stage.OVERDUE, Stage.RESUMED, Stage.CLOSED]
    assert not told.letters, "its sink takes it too"


async def test_a_message_says_how_loud_its_channel_is_to_take_it() -> None:
    told = desk().tell(opened(), resumed())
    first, end = (one for one in told.said if isinstance(one, NotificationQueued))
    assert (first.severity, first.weight, end.severity, end.weight) == (
        Severity.WARNING, None, Severity.INFO, Severity.WARNING,
    )  # fmt: skip


async def test_a_rule_of_one_kind_of_alert_hears_the_end_of_what_it_told_and_of_nothing_else() -> None:
    """Whoever was called for a hang never heard that it was over, as an end is of another kind: a tolerance."""
    hang = diagnosed()
    hang = hang.model_copy(update={"verdict": hang.verdict.model_copy(update={"category": Category.HANG})})
    told = await desk(kinds=(AlertKind.HANG,)).tell(opened(), hang, planned(), resumed(), closed()).deliver()
    assert stages(told) == [Stage.DIAGNOSED, Stage.RESUMED, Stage.CLOSED]
    told = await desk(kinds=(AlertKind.HANG,)).tell(*RECOVERY).deliver()
    assert stages(told) == []
    told = desk(kinds=(AlertKind.HANG, AlertKind.TOLERANCE), minimum=Severity.WARNING).tell(hang, planned(), resumed())
    assert stages(await told.deliver()) == [Stage.DIAGNOSED, Stage.RESUMED]


async def test_a_rule_of_one_cause_hears_the_end_when_the_cause_turned_out_to_be_another() -> None:
    network = diagnosed()
    network = network.model_copy(update={"verdict": network.verdict.model_copy(update={"category": Category.NETWORK})})
    other = diagnosed().model_copy(update={"id": EventId("verdict-2"), "revision": 1})
    told = desk(categories=(Category.NETWORK,)).tell(opened(), network, other, resumed(), closed())
    assert stages(await told.deliver()) == [Stage.DIAGNOSED, Stage.RESUMED, Stage.CLOSED]


async def test_a_rule_that_takes_one_stage_of_an_incident_stays_at_it() -> None:
    told = await desk(stages=(Stage.DIAGNOSED,), minimum=Severity.WARNING).tell(*RECOVERY).deliver()
    assert stages(told) == [Stage.DIAGNOSED]
    both = (Stage.OPENED, Stage.RESUMED)
    told = await desk(stages=both, minimum=Severity.WARNING).tell(*RECOVERY).deliver()
    assert stages(told) == list(both)


async def test_an_end_calls_nobody_and_begins_no_escalation() -> None:
    steps = (Escalation(after=timedelta(minutes=5), sink="phone"),)
    told = desk(minimum=LOUD, mention=("oncall",), escalate=steps).tell(opened(), overdue(), acknowledged(), resumed())
    queued = [one for one in told.said if isinstance(one, NotificationQueued)]
    assert [(one.stage, one.mention) for one in queued] == [
        (Stage.OVERDUE, ("oncall",)), (Stage.ACKNOWLEDGED, ()), (Stage.RESUMED, ()),
    ]  # fmt: skip
    await told.wait(3600)
    assert not [one for one in told.said if isinstance(one, NotificationQueued) and one.channel == "phone"]


@pytest.mark.parametrize("sink", ["boss", HOOK])
async def test_who_was_called_by_an_escalation_hears_its_end(sink: str) -> None:
    steps = (Escalation(after=timedelta(minutes=5), sink=sink),)
    told = Desk("log", "chat", sink).tell(accepted(route("chat", Severity.WARNING, escalate=steps)), opened())
    await told.wait(600)
    await told.tell(said(acknowledged(), 700), said(planned(), 710), said(resumed(), 720), said(closed(), 730)).wait(
        300
    )
    assert stages(told, sink) == [Stage.ESCALATED, Stage.ACKNOWLEDGED, Stage.RESUMED, Stage.CLOSED]


async def test_who_no_escalation_reached_hears_no_end() -> None:
    steps = (Escalation(after=timedelta(minutes=5), sink="boss"),)
    told = Desk("log", "chat", "boss").tell(accepted(route("chat", escalate=steps)), *RECOVERY)
    await told.wait(3600)
    assert stages(told, "boss") == []


async def test_who_was_woken_in_quiet_hours_hears_the_end_in_them_with_what_led_there() -> None:
    told = desk(ROBOT.model_copy(update={"quiet": (NIGHT,)})).tell(opened())
    await told.tell(said(overdue(), 600)).wait(900)
    assert stages(told) == [Stage.OPENED, Stage.OVERDUE], "the thread keeps its order"
    await told.tell(said(resumed(), 900), said(closed(), 900)).wait(60)
    assert stages(told)[2:] == [Stage.RESUMED, Stage.CLOSED]
    await told.wait(8 * 3600)
    assert len(told.sinks["chat"].got) == 4


async def test_an_end_that_quiet_hours_hold_comes_in_the_digest_of_its_thread_as_its_last_word() -> None:
    told = desk(ROBOT.model_copy(update={"quiet": (NIGHT,)}), minimum=Severity.WARNING)
    await told.tell(*RECOVERY).wait(8 * 3600)
    (digest,) = told.sinks["chat"].got
    ((member, *others),) = ([*digest.members],)
    assert (member.title, member.stage, others) == ("Incident of job train-1 closed: resumed", Stage.CLOSED, [])
    assert told.sinks["chat"].called == [pytest.approx(7 * 3600, abs=1)]


async def test_rules_hold_the_end_of_what_they_held_and_no_other() -> None:
    told = await desk(minimum=Severity.WARNING, quiet=(NIGHT,)).tell(*RECOVERY).wait(3600)
    assert stages(told) == []
    told = desk(minimum=Severity.WARNING, quiet=(NIGHT,)).tell(opened(), overdue(), resumed())
    assert stages(await told.deliver()) == [Stage.OPENED, Stage.OVERDUE, Stage.RESUMED]


async def test_what_gathers_goes_before_the_urgent_of_its_thread_and_the_end_gathers_with_the_rest() -> None:
    told = desk(gather=timedelta(seconds=30)).tell(opened(), overdue(), resumed(), closed())
    assert stages(await told.deliver()) == [Stage.OPENED, Stage.OVERDUE]
    await told.wait(31)
    assert len(told.sinks["chat"].got) == 3


@pytest.mark.parametrize("outcome", [Outcome.RESUMED, Outcome.FAILED])
async def test_a_channel_of_one_message_a_thread_tells_the_end_in_place_of_what_still_waits(outcome: Outcome) -> None:
    told = desk(SMS.model_copy(update={"quiet": (NIGHT,)})).tell(opened(), resumed(), closed(outcome))
    await told.wait(8 * 3600)
    assert [one.title for one in told.sinks["chat"].got] == [f"Incident of job train-1 closed: {outcome}"]


async def test_nobody_is_called_to_hear_that_all_is_well_even_by_a_channel_that_forgot_the_thread() -> None:
    told = await desk(PHONE).tell(opened(), overdue()).deliver()
    assert stages(told) == [Stage.OVERDUE]
    del told.folds["channel/chat"]
    await told.tell(resumed(), closed()).deliver()
    assert stages(told) == [Stage.OVERDUE]


async def test_the_end_of_what_was_told_days_ago_is_told() -> None:
    told = await desk(ROBOT.model_copy(update={"minimum": LOUD})).tell(opened(), overdue()).deliver()
    assert told.quiet("channel/chat")
    del told.folds["channel/chat"]
    await told.tell(said(closed(), 5 * 86400)).deliver()
    assert stages(told) == [Stage.OVERDUE, Stage.CLOSED]


@pytest.mark.parametrize("job", [JOB, None], ids=["when it expires", "by hand"])
async def test_the_release_of_a_node_reaches_who_was_told_of_its_isolation(job: JobRef | None) -> None:
    node, incident = NodeName("n1"), None if job is None else INCIDENT
    isolated = NodeIsolated(
        id=EventId("i"), time=NOW, pool=POOL, job=JOB, node=node, incident=INCIDENT, reason="Xid 79", because="Xid 79"
    )
    freed = NodeReleased(
        id=EventId("r"), time=NOW, pool=POOL, job=job, node=node, incident=incident, because="asked for by li"
    )
    rule = route("chat", Severity.WARNING)
    told = await Desk("chat", pool=(rule,)).tell(accepted(rule), isolated, freed).deliver()
    assert stages(told) == [Stage.ISOLATED, Stage.RELEASED]
    loud = route("chat", LOUD)
    told = await Desk("chat", pool=(loud,)).tell(accepted(loud), isolated, freed).deliver()
    assert stages(told) == []


async def test_who_hears_that_the_detector_is_blind_hears_that_it_sees_again() -> None:
    blind = DetectorBlinded(id=EventId("b"), time=NOW, pool=POOL, silent=9, total=10, because="9 of 10 agents silent")
    again = DetectorSighted(id=EventId("s"), time=NOW, pool=POOL, total=10)
    told = await Desk("chat", pool=(route("chat", LOUD),)).tell(blind, again).deliver()
    assert stages(told) == [Stage.BLINDED, Stage.SIGHTED]


async def test_who_hears_that_a_job_waits_hears_that_it_started_and_no_more_of_it() -> None:
    waits = JobWaiting(id=EventId("w"), time=NOW, pool=POOL, job=JOB, because="needs 2 nodes, 1 free")
    starts = JobStarted(id=EventId("s"), time=NOW, pool=POOL, job=JOB, placement=())
    told = await desk(minimum=Severity.WARNING).tell(waits, starts, starts.model_copy(update={"id": "t"})).deliver()
    assert stages(told) == [Stage.WAITING, Stage.RUNNING]
    told = await desk(minimum=Severity.WARNING).tell(starts).deliver()
    assert stages(told) == []


async def test_a_drain_that_cannot_be_done_is_told_and_not_as_a_wait() -> None:
    stays = JobWaiting(id=EventId("w"), time=NOW, pool=POOL, job=JOB, because="ops drains n1", runs=True)
    told = await desk(minimum=Severity.WARNING).tell(stays).deliver()
    assert stages(told) == [Stage.HELD]
    assert told.sinks["chat"].got[0].title.endswith("runs on where it is")


async def test_a_log_channel_with_a_minimum_of_its_own_buries_no_end() -> None:
    quiet = LogChannel(name="log", kind=ChannelKind.LOG, minimum=Severity.WARNING)
    told = Desk("log", channels=Channels(channels=(quiet,))).tell(accepted(route("log", Severity.WARNING)), *RECOVERY)
    assert stages(await told.deliver(), "log") == [Stage.OPENED, Stage.DIAGNOSED, Stage.RESUMED, Stage.CLOSED]
    assert not told.letters


async def test_how_long_after_it_is_counts_from_the_fault_as_everywhere_else() -> None:
    verdict = diagnosed().model_copy(update={"occurred": at(-9), "detected": at(-1), "time": at(1)})
    told = await desk().tell(opened(), verdict, said(resumed(), 3)).wait(10)
    assert [dict(one.facts).get("after") for one in told.sinks["chat"].got] == [None, "10.0 s", "12.0 s"]


async def test_the_close_of_an_incident_says_its_seconds_once() -> None:
    accounts = Accounts(
        wall_s=12, detect_s=1, decide_s=1, isolate_s=0, reschedule_s=2, init_s=2, load_s=1, first_step_s=1,
        recompute_s=4, lost_steps=3,
    )  # fmt: skip
    end = said(closed(), 8).model_copy(update={"accounts": accounts})
    told = await desk().tell(opened(), end).wait(10)
    facts = dict(told.sinks["chat"].got[-1].facts)
    assert ("seconds" in facts, "after" in facts) == (True, False)


async def test_a_release_days_later_counts_no_seconds_since_the_fault() -> None:
    freed = NodeReleased(
        id=EventId("r"), time=at(86400), pool=POOL, job=JOB, node=NodeName("n1"), incident=INCIDENT, because="expired"
    )
    told = await desk().tell(opened(), freed).wait(2 * 86400)
    assert [one.stage for one in told.sinks["chat"].got if "after" in dict(one.facts)] == []
