"""When messages go out by a channel: within its limits, together in a storm, in order, and never lost."""

from datetime import time, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.channel_kinds import Feishu, LogChannel, Sms, WeCom
from keepstep.contracts.channel_parts import Limit, QuietHours, Spoken
from keepstep.contracts.channels import Channels, Person
from keepstep.contracts.events import (
    DeadLettered,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
    NotificationQueued,
    RecoveryPlanned,
)
from keepstep.contracts.ids import EventId, JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.notification import Escalation
from keepstep.contracts.taxonomy import ChannelKind, Level, Outcome, Service, Severity, Stage
from keepstep.contracts.topology import JobRef
from keepstep.notifier.core.outgoing import pace
from keepstep.notifier.core.outgoing.decide import GIVEN_UP
from keepstep.notifier.core.outgoing.digest import LINES
from keepstep.ports.errors import Permanent, Transient
from tests.notifier.story import INCIDENT, JOB, NOW, POOL, Desk, accepted, at, closed, diagnosed, failed, opened, route

ROBOT = WeCom.model_validate({"name": "chat", "kind": "wecom", "url": "https://chat.example/send?key=s3cret"})
BOT = Feishu.model_validate({"name": "chat", "kind": "feishu", "url": "https://chat.example/hook/s3cret"})
SMS = Sms.model_validate({"name": "chat", "kind": "sms", "url": "https://sms.example/send", "to": ["10086"]})


def desk(channel: Spoken = ROBOT, **rule: Any) -> Desk:
    return Desk("log", channels=Channels(channels=(channel,))).tell(accepted(route("chat", **rule)))


def of_job(message: Message, number: int, seconds: float = 0) -> Message:
    """Return the message as one of another job's incident."""
    job = JobRef(name=f"train-{number}", uid=JobUid(f"job-{number}"))
    told = {"job": job, "time": at(seconds), "id": EventId(f"{message.id}-{number}")}
    return message.model_copy(update=told | ({} if message.incident is None else {"incident": f"incident-{number}"}))


def named(told: Desk) -> set[str]:
    """Return every incident that people in the chat were told of."""
    single = {str(one.incident) for one in told.sinks["chat"].got if one.incident is not None}
    members = [member for one in told.sinks["chat"].got for member in one.members]
    return single | {str(member.incident) for member in members if member.incident is not None}


async def test_an_incident_is_told_one_by_one_in_one_thread() -> None:
    told = await desk().tell(opened(), diagnosed(), closed()).deliver()
    got = told.sinks["chat"].got
    assert [(one.thread, one.sequence, one.stage) for one in got] == [
        (INCIDENT, 1, Stage.OPENED),
        (INCIDENT, 2, Stage.DIAGNOSED),
        (INCIDENT, 3, Stage.CLOSED),
    ]
    assert [(one.channel, one.sink, type(one)) for one in told.endings] == [("chat", "chat", NotificationDelivered)] * 3
    assert {one.job for one in told.endings} == {JOB}


@pytest.mark.parametrize("channel", [ROBOT, BOT], ids=["wecom", "feishu"])
async def test_a_storm_of_200_incidents_keeps_the_limit_and_loses_none(channel: WeCom | Feishu) -> None:
    told = desk(channel)
    for number in range(200):
        told.tell(of_job(accepted(route("chat")), number))
    for number in range(200):
        told.tell(of_job(opened(), number), of_job(diagnosed(), number), of_job(failed(), number))
    await told.wait(60)
    called = told.sinks["chat"].called
    assert len(called) <= channel.limit.per_minute
    await told.wait(600)
    assert named(told) == {f"incident-{number}" for number in range(200)}
    assert len(told.endings) == 600
    assert {type(one) for one in told.endings} == {NotificationDelivered}
    assert max(called) < 60
    assert all(len(one.members) <= LINES for one in told.sinks["chat"].got)


async def test_a_storm_that_comes_bit_by_bit_keeps_every_window_of_the_limit() -> None:
    told = desk()
    for number in range(300):
        await told.tell(of_job(accepted(route("chat")), number, number / 3), of_job(opened(), number, number / 3)).wait(
            1 / 3
        )
    await told.wait(120)
    called = told.sinks["chat"].called
    for start in called:
        assert sum(start <= moment < start + 60 for moment in called) <= 20
    assert named(told) == {f"incident-{number}" for number in range(300)}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 20), max_size=300), st.integers(1, 120), st.one_of(st.none(), st.integers(1, 10)))
def test_no_window_ever_has_more_calls_than_the_vendor_takes(
    gaps: list[float], minute: int, second: int | None
) -> None:
    limit, now, calls = Limit(per_minute=minute, per_second=second), NOW, [NOW][:0]
    for gap in gaps:
        now = pace.next_call(calls, limit, now + timedelta(seconds=gap))
        calls.append(now)
    for last in calls:
        assert sum(last - timedelta(minutes=1) <= call <= last for call in calls) <= minute
        assert second is None or sum(last - timedelta(seconds=1) <= call <= last for call in calls) <= second


async def test_the_most_urgent_of_a_storm_goes_out_first() -> None:
    told = desk()
    for number in range(100):
        told.tell(of_job(accepted(route("chat")), number), of_job(opened(), number))
    await told.tell(of_job(failed(), 99)).deliver()
    first = next(one for one in told.sinks["chat"].got if one.members)
    assert first.members[0].incident == "incident-99" or first.members[0].title.startswith("Job train-99 failed")
    assert first.severity is Severity.CRITICAL


async def test_each_message_of_a_digest_is_recorded_with_its_job_and_the_vendors_code() -> None:
    told = desk()
    for number in range(40):
        told.tell(of_job(accepted(route("chat")), number), of_job(opened(), number))
    await told.wait(60)
    together = [one for one in told.endings if isinstance(one, NotificationDelivered) and one.digest]
    assert len(together) > LINES
    assert {one.code for one in together} == {"0"}
    assert len({one.job.uid for one in told.endings if one.job is not None}) == len(told.endings) == 40


async def test_what_the_vendor_refuses_for_now_is_tried_when_it_says_with_its_code_in_the_record() -> None:
    told = desk()
    told.sinks["chat"].raises = [Transient("sent too fast", retry_after=timedelta(minutes=10), code="130101")]
    await told.tell(opened()).wait(599)
    assert not told.sinks["chat"].got
    (late,) = [one for one in told.said if isinstance(one, NotificationDelayed)]
    assert (late.code, late.channel, late.tries) == ("130101", "chat", 1)
    await told.tell(diagnosed()).wait(5)
    assert [one.sequence for one in told.sinks["chat"].got] == [1, 2], "what came later waits its turn"


async def test_what_the_vendor_never_takes_is_dropped_at_once_and_lies_among_the_dead_letters() -> None:
    told = desk()
    told.sinks["chat"].raises = [Permanent("invalid webhook url", code="93000")]
    await told.tell(opened(), diagnosed()).deliver()
    dropped, delivered = told.endings
    assert isinstance(dropped, NotificationDropped)
    assert (dropped.code, dropped.channel, dropped.job) == ("93000", "chat", JOB)
    ((letter, because),) = told.letters
    assert isinstance(letter, NotificationQueued)
    assert letter.incident == INCIDENT
    assert because == "channel chat: invalid webhook url (code 93000)"
    assert isinstance(delivered, NotificationDelivered)


async def test_a_dead_letter_that_is_sent_again_is_delivered() -> None:
    told = desk()
    told.sinks["chat"].raises = [Permanent("robot stopped", code="400102")] * 2
    await told.tell(opened()).deliver()
    for _ in range(2):
        told.clock.at += timedelta(seconds=60)
        await told.tell(told.letters[-1][0].model_copy(update={"time": told.clock.at})).deliver()
    assert [type(one) for one in told.endings] == [NotificationDropped, NotificationDropped, NotificationDelivered]
    assert len({one.id for one in told.endings}) == 3, "or the bus would take the second for the first"
    assert len({letter.time for letter, _ in told.letters}) == 2, "or the second would be no letter of its own"


async def test_a_vendor_that_is_away_for_an_hour_costs_the_message_that_waited_so_long() -> None:
    told = desk()
    told.sinks["chat"].raises = [Transient("no answer", code="")] * 500
    await told.tell(opened()).wait(GIVEN_UP.total_seconds() + 120)
    (dropped,) = told.endings
    assert isinstance(dropped, NotificationDropped)
    assert "tries failed within an hour, the last: no answer" in dropped.because
    assert len(told.letters) == 1
    assert len(told.sinks["chat"].called) < 80


async def test_a_channel_that_nobody_named_is_said_clearly_and_loses_nothing() -> None:
    told = await Desk("log").tell(accepted(route("oncal")), opened()).deliver()
    (dropped,) = told.endings
    assert isinstance(dropped, NotificationDropped)
    assert (dropped.channel, dropped.code) == ("oncal", "unknown_channel")
    told.channels = Channels(channels=(LogChannel(name="oncal", kind=ChannelKind.LOG),))
    told.sinks["oncal"] = told.sinks["log"]
    await told.tell(told.letters[0][0]).deliver()
    assert told.titles("log") == ["Fault in job train-1"]


async def test_what_cannot_be_a_channels_name_is_dropped_and_never_said() -> None:
    told = await Desk("log").tell(accepted(route("hooks.example.com/robot?k=s3cret")), opened()).deliver()
    assert [type(one) for one in told.endings] == [NotificationDropped]
    assert not [one for one in told.said if "s3cret" in one.model_dump_json()]


async def test_news_of_a_dead_letter_that_dies_too_is_no_letter_again() -> None:
    told = Desk("log", pool=(route("nowhere"),))
    told.channels = Channels(channels=(ROBOT,))
    letter = DeadLettered(
        id=EventId("d"), time=NOW, pool=POOL, service=Service.NOTIFIER, about="NotificationQueued", because="x"
    )
    await told.tell(letter).deliver()
    assert [(type(one), one.channel) for one in told.endings] == [(NotificationDropped, "nowhere")]
    assert not told.letters


async def test_quiet_hours_of_a_channel_hold_all_but_the_critical_and_end_in_one_digest() -> None:
    night = QuietHours(start=time(0), end=time(7))
    told = desk(ROBOT.model_copy(update={"quiet": (night,)}))
    await told.tell(opened(), diagnosed(), of_job(accepted(route("chat")), 2), of_job(opened(), 2), failed()).wait(
        6 * 3600
    )
    assert [one.title for one in told.sinks["chat"].got] == ["Job train-1 failed: user_code"]
    await told.wait(3700)
    _, digest = told.sinks["chat"].got
    assert told.sinks["chat"].called[1] == pytest.approx(7 * 3600, abs=1)
    assert {member.incident for member in digest.members} == {INCIDENT, "incident-2"}
    assert len(told.endings) == 4


async def test_what_an_outage_kept_until_quiet_hours_began_waits_for_their_end_and_the_critical_does_not() -> None:
    night = QuietHours(start=time(0, 5), end=time(7))
    told = desk(ROBOT.model_copy(update={"quiet": (night,)}))
    told.sinks["chat"].raises = [Transient("away", retry_after=timedelta(minutes=10))]
    await told.tell(opened(), diagnosed()).wait(3600)
    assert told.sinks["chat"].called == [0]
    late = failed().model_copy(update={"time": told.clock.at})
    await told.tell(late).wait(8 * 3600)
    assert [
        (one.title, round(called))
        for one, called in zip(told.sinks["chat"].got, told.sinks["chat"].called[1:], strict=True)
    ] == [("Job train-1 failed: user_code", 3600), ("2 messages about 1 incident", 7 * 3600)]


async def test_quiet_hours_that_are_taken_out_of_the_file_hold_nothing_any_more() -> None:
    told = desk(ROBOT.model_copy(update={"quiet": (QuietHours(start=time(0), end=time(23)),)}))
    await told.tell(opened()).wait(600)
    assert not told.sinks["chat"].got
    told.channels = Channels(channels=(ROBOT,))
    await told.wait(900)
    assert len(told.sinks["chat"].got) == 1


async def test_messages_are_gathered_as_the_rule_asks_and_critical_ones_do_not_wait() -> None:
    told = desk(gather=timedelta(seconds=30))
    await told.tell(opened(), diagnosed(), failed()).wait(29)
    assert [one.title for one in told.sinks["chat"].got] == ["Job train-1 failed: user_code"]
    await told.wait(2)
    (_, together) = told.sinks["chat"].got
    assert (together.thread, together.title) == (INCIDENT, "2 messages about 1 incident")


async def test_a_channel_that_takes_one_message_of_each_thread_gets_one() -> None:
    told = await desk(SMS).tell(opened(), diagnosed(), closed()).tell(of_job(opened(), 2)).deliver()
    assert [one.title for one in told.sinks["chat"].got] == ["Fault in job train-1"]


async def test_one_message_of_each_thread_is_the_most_urgent_that_is_there_when_quiet_hours_hold_the_first() -> None:
    night = QuietHours(start=time(0), end=time(7))
    sms = SMS.model_copy(update={"quiet": (night,)})
    told = await desk(sms).tell(opened(), closed(Outcome.FAILED), diagnosed()).wait(8 * 3600)
    assert [one.title for one in told.sinks["chat"].got] == ["Incident of job train-1 closed: failed"]
    assert told.sinks["chat"].called[0] < 1, "critical messages wait for no morning"


async def test_a_step_of_an_escalation_reaches_a_channel_that_had_its_message_of_the_thread() -> None:
    steps = tuple(Escalation(after=timedelta(minutes=each), sink="chat") for each in (5, 15))
    told = Desk("log", channels=Channels(channels=(SMS,))).tell(accepted(route("log", escalate=steps)))
    await told.tell(opened()).wait(3600)
    assert [round(moment) for moment in told.sinks["chat"].called] == [300, 900]


async def test_what_a_channel_no_longer_takes_when_its_turn_comes_is_no_dead_letter() -> None:
    night = QuietHours(start=time(0), end=time(7))
    told = desk(ROBOT.model_copy(update={"quiet": (night,)}))
    await told.tell(opened()).wait(60)
    told.channels = Channels(channels=(ROBOT.model_copy(update={"minimum": Severity.CRITICAL}),))
    await told.wait(8 * 3600)
    assert not told.sinks["chat"].called
    assert not told.letters


async def test_people_whom_a_rule_mentions_are_called_as_the_channels_vendor_knows_them() -> None:
    people = {"li": Person(wecom="lisi"), "wang": Person(wecom="wangwu")}
    groups = {"oncall": ("li", "wang")}
    told = desk(mention=("oncall", "ghost"))
    told.channels = Channels(channels=(ROBOT,), people=people, groups=groups)
    await told.tell(opened()).deliver()
    (got,) = told.sinks["chat"].got
    assert (got.mentions.ids, got.mentions.missing) == (("lisi", "wangwu"), ("ghost",))
    assert not [one for one in told.said if "lisi" in one.model_dump_json()], "names travel, ids stay in the file"


async def test_a_channel_takes_nothing_milder_than_it_says() -> None:
    told = await desk(ROBOT.model_copy(update={"minimum": Severity.CRITICAL})).tell(opened(), failed()).deliver()
    assert [one.title for one in told.sinks["chat"].got] == ["Job train-1 failed: user_code"]


async def test_a_try_repeated_after_a_crash_ends_as_one() -> None:
    told = desk().tell(opened())
    (effect,) = told.stage.effects(told.folds["channel/chat"])
    first, second = [*await told.stage.act(effect), *await told.stage.act(effect)]
    assert first.id == second.id
    assert len({one.id for one in told.sinks["chat"].got}) == 1, "so that channels can tell"
    told.tell(first, second)
    assert told.quiet("channel/chat")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["opened", "diagnosed", "failed"])), max_size=40))
async def test_any_order_and_any_duplicates_are_each_told_once(story: list[tuple[int, str]]) -> None:
    makers = {"opened": opened(), "diagnosed": diagnosed(), "failed": failed()}
    told = desk()
    for number, what in story:
        told.tell(of_job(accepted(route("chat")), number), of_job(makers[what], number))
    await told.wait(600)
    assert len(told.endings) == len({(number, what) for number, what in story})
    assert len({one.notice for one in told.endings}) == len(told.endings)


WARNING = Severity.WARNING


@pytest.mark.parametrize("sink", ["chat", "log"])
async def test_messages_are_numbered_as_the_sink_gets_them_whatever_a_rule_keeps_back(sink: str) -> None:
    """Opened, diagnosed and the end go out; the plan in between is below the rule's minimum."""
    told = Desk("log", channels=Channels(channels=(ROBOT,))).tell(accepted(route(sink, minimum=WARNING)))
    await told.tell(opened(), planned(), diagnosed(), closed()).deliver()
    assert [(one.sequence, one.stage) for one in told.sinks[sink].got] == [
        (1, Stage.OPENED),
        (2, Stage.DIAGNOSED),
        (3, Stage.CLOSED),
    ]


async def test_messages_are_numbered_as_the_channel_gets_them_whatever_it_does_not_take() -> None:
    told = await desk(ROBOT.model_copy(update={"minimum": WARNING})).tell(opened(), planned(), diagnosed()).deliver()
    assert [one.sequence for one in told.sinks["chat"].got] == [1, 2]


async def test_a_digest_of_one_thread_is_one_message_of_it_and_a_failed_try_is_none() -> None:
    told = desk(gather=timedelta(seconds=30)).tell(opened(), diagnosed())
    told.sinks["chat"].raises = [Transient("busy")]
    await told.wait(60)
    await told.tell(failed().model_copy(update={"incident": INCIDENT, "time": at(60)})).wait(60)
    assert [(one.sequence, len(one.members)) for one in told.sinks["chat"].got] == [(1, 1), (2, 0)]


def planned() -> RecoveryPlanned:
    return RecoveryPlanned(
        id=EventId("planned"),
        time=NOW,
        pool=POOL,
        job=JOB,
        incident=INCIDENT,
        attempt=1,
        level=Level.POD,
        to_generation=2,
        because="unknown starts at in-place",
    )
