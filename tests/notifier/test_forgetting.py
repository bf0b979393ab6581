"""How long the notifier remembers a job, a node and what it told of them."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import (
    NodeIsolated,
)
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.message import Message
from keepstep.ports.errors import Transient
from tests.notifier.story import (
    ENDS,
    JOB,
    NOW,
    POOL,
    Desk,
    accepted,
    at,
    closed,
    failed,
    opened,
    route,
)


async def test_a_job_that_lives_is_remembered_however_quiet_it_is() -> None:
    desk = await Desk().tell(accepted(route("log")), opened(), closed()).deliver()
    assert not desk.quiet()


@pytest.mark.parametrize("end", ENDS, ids=lambda one: type(one).__name__)
async def test_a_job_that_is_over_is_forgotten_a_day_after_the_last_word_on_it(end: Message) -> None:
    desk = await Desk().tell(accepted(route("log")), end, closed().model_copy(update={"time": at(60)})).deliver()
    (deadline,) = desk.stage.deadlines(desk.folds[JOB.uid])
    assert deadline.due == at(60) + timedelta(days=1)
    assert desk.quiet()


async def test_what_still_waits_for_a_sink_is_delivered_before_its_job_is_forgotten() -> None:
    desk = Desk().tell(accepted(route("log")), failed())
    desk.sinks["log"].raises = [Transient("away")]
    await desk.deliver()
    assert not desk.quiet()
    await desk.later()
    assert len(desk.endings) == 1
    assert desk.stage.over(desk.folds[JOB.uid])


async def test_a_late_message_of_a_forgotten_job_goes_by_the_pools_routes_and_is_forgotten_in_turn() -> None:
    desk = await Desk("log", "chat").tell(accepted(route("chat")), failed()).deliver()
    assert desk.quiet()
    del desk.folds[JOB.uid]
    await desk.tell(closed()).deliver()
    assert (len(desk.titles("chat")), len(desk.titles("log"))) == (1, 1)
    assert desk.quiet()


async def test_news_of_a_delivery_that_outlived_its_fold_leaves_none_behind() -> None:
    desk = await Desk().tell(accepted(route("log")), failed()).deliver()
    desk.folds.clear()
    desk.tell(*desk.said)
    assert desk.stage.over(desk.folds[JOB.uid])


async def test_a_node_is_forgotten_a_day_after_the_last_word_on_it() -> None:
    node = NodeIsolated(id=EventId("n"), time=NOW, pool=POOL, node=NodeName("n1"), reason="r", because="b")
    desk = await Desk().tell(node).deliver()
    assert desk.quiet("n1")
