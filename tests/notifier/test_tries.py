"""What does not get through is tried again with growing pauses, in order, and given up with its reason."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import (
    NotificationDelivered,
    NotificationDropped,
)
from keepstep.notifier.core import Deliver
from keepstep.notifier.core.state import QUEUE
from keepstep.notifier.core.tries import MOST_TRIES
from keepstep.ports.errors import Permanent, Transient
from tests.notifier.story import (
    JOB,
    Desk,
    accepted,
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


def test_a_queue_that_is_full_drops_the_next_and_says_so() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    state = desk.folds[JOB.uid]
    desk.folds[JOB.uid] = state.model_copy(update={"pending": state.pending * QUEUE})
    desk.tell(opened("b"), opened("c"))
    assert len(desk.endings) == 2
    assert len(desk.folds[JOB.uid].pending) == QUEUE


async def test_a_try_repeated_after_a_crash_ends_as_one() -> None:
    desk = Desk().tell(accepted(route("log")), opened())
    (effect,) = desk.stage.effects(desk.folds[JOB.uid])
    assert isinstance(effect, Deliver)
    first, second = [*await desk.stage.act(effect), *await desk.stage.act(effect)]
    assert first.id == second.id
    assert [one.id for one in desk.sinks["log"].got] == [effect.pending.id] * 2, "so that channels can tell"
    desk.tell(first, second)
    assert desk.folds[JOB.uid].pending == ()
