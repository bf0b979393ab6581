"""What does not get through is tried again with growing pauses, in order, and given up with its reason."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import (
    DeadLettered,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
    NotificationQueued,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.taxonomy import Service
from keepstep.notifier.core import Deliver
from keepstep.notifier.core.state import QUEUE
from keepstep.notifier.core.tries import MOST_TRIES
from keepstep.ports.errors import Permanent, Transient
from tests.notifier.story import (
    HOOK,
    INCIDENT,
    JOB,
    POOL,
    Desk,
    accepted,
    at,
    closed,
    diagnosed,
    opened,
    route,
)


async def test_a_message_that_does_not_get_through_is_tried_again_with_growing_pauses() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    desk.sinks["log"].raises = [Transient("away")] * 3
    pauses = []
    await desk.deliver()
    while desk.waits:
        pauses += [pause.total_seconds() for pause in desk.waits]
        await desk.later()
    assert pauses == [1, 2, 4]
    (ending,) = desk.endings
    assert isinstance(ending, NotificationDelivered)
    assert ending.tries == 4


async def test_a_sink_that_asks_for_a_pause_gets_it() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    desk.sinks["log"].raises = [Transient("slow down", retry_after=timedelta(seconds=90))]
    await desk.deliver()
    assert desk.waits == [timedelta(seconds=90)]


async def test_later_messages_of_a_thread_wait_and_keep_their_order() -> None:
    desk = Desk("log", "chat").tell(accepted(route("log"), route("chat")), opened(), diagnosed())
    desk.sinks["chat"].raises = [Transient("away")]
    await desk.deliver()
    assert (len(desk.titles("log")), len(desk.titles("chat"))) == (2, 0)
    await desk.later()
    assert [one.sequence for one in desk.sinks["chat"].got] == [1, 2]


async def test_a_message_is_given_up_after_the_last_try_and_says_why() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    desk.sinks["log"].raises = [Transient("away")] * MOST_TRIES
    await desk.deliver()
    while desk.waits:
        await desk.later()
    (ending,) = desk.endings
    assert isinstance(ending, NotificationDropped)
    assert ending.because == f"{MOST_TRIES} tries failed, the last: away"
    assert not desk.sinks["log"].got


@pytest.mark.parametrize("sink", ["log", "nowhere"])
async def test_what_can_never_be_delivered_is_dropped_at_once(sink: str) -> None:
    desk = Desk().tell(accepted(route(sink)), opened(), closed())
    desk.sinks["log"].raises = [Permanent("gone for good")] * 2
    await desk.deliver()
    assert [type(one) for one in desk.endings] == [NotificationDropped] * 2
    assert not desk.waits


async def test_a_queue_that_is_full_gives_the_next_up_and_says_so() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    desk.sinks["log"].raises = [Transient("away", retry_after=timedelta(minutes=1))]
    await desk.deliver()
    state = desk.folds[JOB.uid]
    desk.folds[JOB.uid] = state.model_copy(update={"pending": state.pending * QUEUE})
    await desk.tell(opened("b"), opened("c")).deliver()
    assert [ending.because for ending in desk.endings if isinstance(ending, NotificationDropped)] == [
        f"{QUEUE} messages wait already: the sink is away"
    ] * 2
    assert len(desk.letters) == 2
    assert len(desk.folds[JOB.uid].pending) == QUEUE


async def test_what_an_address_never_takes_lies_among_the_dead_letters_with_its_code_and_without_its_secret() -> None:
    desk = Desk(HOOK).tell(accepted(route(HOOK)), opened())
    desk.sinks[HOOK].raises = [Permanent("https://hooks.example.com:8443 answered 410", code="410")]
    await desk.deliver()
    (dropped,) = desk.endings
    ((letter, because),) = desk.letters
    assert isinstance(dropped, NotificationDropped)
    assert (dropped.code, dropped.sink) == ("410", "https://hooks.example.com:8443")
    assert because == "https://hooks.example.com:8443 answered 410 (code 410)"
    assert (type(letter), letter.incident, letter.key) == (NotificationQueued, INCIDENT, JOB.uid)
    assert "s3cret" not in letter.model_dump_json()


async def test_a_dead_letter_of_an_address_that_is_sent_again_is_delivered() -> None:
    desk = Desk("log", HOOK).tell(accepted(route("log"), route(HOOK)), opened())
    desk.sinks[HOOK].raises = [Permanent("gone", code="410")] * 2
    await desk.deliver()
    for _ in range(2):
        desk.clock.at += timedelta(seconds=60)
        await desk.tell(desk.letters[-1][0].model_copy(update={"time": desk.clock.at})).deliver()
    ends = [one for one in desk.endings if one.sink != "log"]
    assert [type(one) for one in ends] == [NotificationDropped, NotificationDropped, NotificationDelivered]
    assert len({one.id for one in ends}) == 3, "or the bus would take the second for the first"
    assert len({letter.time for letter, _ in desk.letters}) == 2, "or the second would be no letter of its own"
    (got,) = desk.sinks[HOOK].got
    assert (got.title, got.sequence, got.thread) == ("Fault in job train-1", 1, INCIDENT)


async def test_a_dead_letter_of_an_address_that_no_rule_names_any_more_stays_one_and_says_so() -> None:
    desk = Desk("log", HOOK).tell(accepted(route(HOOK)), opened())
    desk.sinks[HOOK].raises = [Permanent("gone", code="410")]
    await desk.deliver()
    desk.folds.clear()
    await desk.tell(desk.letters[0][0].model_copy(update={"time": at(60)})).deliver()
    assert len(desk.letters) == 2
    assert desk.letters[1][1] == "no rule names its address any more"
    assert desk.quiet()


async def test_news_of_a_dead_letter_that_no_address_takes_is_no_letter_again() -> None:
    news = DeadLettered(
        id=EventId("d"),
        time=at(0),
        pool=POOL,
        service=Service.NOTIFIER,
        about="NotificationQueued",
        because="x",
    )
    desk = Desk(HOOK, pool=(route(HOOK),)).tell(news)
    desk.sinks[HOOK].raises = [Permanent("gone", code="410")]
    await desk.deliver()
    assert [(type(one), one.code) for one in desk.endings if isinstance(one, NotificationDropped)] == [
        (NotificationDropped, "410")
    ]
    assert not desk.letters


async def test_an_address_that_is_away_for_almost_an_hour_loses_nothing() -> None:
    desk = Desk(HOOK).tell(accepted(route(HOOK)), opened())
    desk.sinks[HOOK].raises = [Transient("away", code="503")] * 60
    await desk.wait(3600)
    (ending,) = desk.endings
    assert isinstance(ending, NotificationDelivered)
    assert (ending.tries, ending.code) == (61, "0")
    delays = [one for one in desk.said if isinstance(one, NotificationDelayed)]
    assert {one.code for one in delays} == {"503"}


async def test_a_try_repeated_after_a_crash_ends_as_one() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    (effect,) = desk.stage.effects(desk.folds[JOB.uid])
    assert isinstance(effect, Deliver)
    first, second = [*await desk.stage.act(effect), *await desk.stage.act(effect)]
    assert first.id == second.id
    assert [one.id for one in desk.sinks["log"].got] == [effect.pending.id] * 2, "so that channels can tell"
    desk.tell(first, second)
    assert desk.folds[JOB.uid].pending == ()
