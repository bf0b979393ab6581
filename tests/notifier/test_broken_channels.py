"""A channel that takes nothing is told of once, elsewhere, by the pool's rules: no incident's thread is flooded."""

from datetime import timedelta

import pytest

from keepstep.contracts.channels import Channels
from keepstep.contracts.events import DeadLettered, NotificationDropped
from keepstep.contracts.ids import EventId, IncidentId
from keepstep.contracts.message import POOL_KEY, Message
from keepstep.contracts.notification import Escalation, Route
from keepstep.contracts.taxonomy import Service
from keepstep.notifier.core.dead_letters import ANEW
from keepstep.notifier.core.endings import mark
from keepstep.ports.errors import Permanent
from tests.notifier.story import HOOK, INCIDENT, JOB, POOL, Desk, accepted, at, closed, diagnosed, opened, plain, route


class Told(Desk):
    """A desk whose dead letters are told of, as the services' runtime does it."""

    async def _bury(self, message: Message, because: str) -> None:
        await super()._bury(message, because)
        fields = {name: getattr(message, name, "") for name in ("channel", "address")}
        self.say(
            DeadLettered(
                id=EventId(f"letter-{len(self.letters)}"), time=self.clock.at, pool=POOL, incident=message.incident,
                service=Service.NOTIFIER, about=type(message).__name__, because=because, **fields,
            )
        )  # fmt: skip


def desk(*pool: Route, broken: str = "feishu") -> Told:
    """Return a desk with two channels of which one takes nothing, and a job that tells both."""
    there = Channels(channels=(plain("chat"), plain("feishu")))
    told = Told("log", HOOK, channels=there, pool=pool or (route("chat"), route(broken)))
    told.sinks[broken].raises = [Permanent("bad sign", code="19021")] * 500
    told.tell(accepted(route("chat"), route(broken)))
    return told


def lost(number: int, *, because: str = "channel feishu: bad sign (code 19021)", seconds: float = 0) -> DeadLettered:
    """Return that a message of some incident to the channel was lost."""
    return DeadLettered(
        id=EventId(f"d{number}"), time=at(seconds), pool=POOL, incident=IncidentId(f"incident-{number}"),
        service=Service.NOTIFIER, about="NotificationQueued", channel="feishu", because=because,
    )  # fmt: skip


def news(told: Desk, sink: str = "chat") -> list[str]:
    return [one.title for one in told.sinks[sink].got if one.event == "DeadLettered"]


@pytest.mark.parametrize("broken", ["feishu", HOOK])
async def test_a_broken_way_is_told_once_elsewhere_in_the_thread_of_the_pool(broken: str) -> None:
    told = await desk(broken=broken).tell(opened(), diagnosed(), closed()).deliver()
    assert len(told.letters) == 3
    (one,) = (got for got in told.sinks["chat"].got if got.event == "DeadLettered")
    assert (one.thread, one.sequence, one.incident, one.job, one.subject) == (POOL_KEY, 1, None, "", f"pool {POOL}")
    assert [got.sequence for got in told.sinks["chat"].got if got.thread == INCIDENT] == [1, 2, 3]
    assert len(told.sinks[broken].called) == 3, "it is not told of itself"
    assert "s3cret" not in one.text + one.title


async def test_it_is_told_with_the_channels_name_and_its_reason() -> None:
    told = await desk().tell(lost(1)).deliver()
    (one,) = told.sinks["chat"].got
    assert (one.title, one.text) == ("Channel feishu does not deliver", "channel feishu: bad sign (code 19021)")
    assert ("channel", "feishu") in one.facts


async def test_another_reason_of_the_channel_is_news_and_another_number_in_it_is_none() -> None:
    tries = "channel feishu: {} tries failed within an hour, the last: no answer"
    told = await desk().tell(lost(1), lost(2, because=tries.format(61)), lost(3, because=tries.format(64))).deliver()
    assert len(news(told)) == 2


async def test_a_channel_that_breaks_anew_is_told_anew_and_says_how_many_were_lost() -> None:
    told = desk().tell(*(lost(number, seconds=number) for number in range(50)))
    assert len(news(await told.deliver())) == 1
    told.tell(lost(60, seconds=50 + ANEW.total_seconds()))
    *_, last = (await told.wait(7200)).sinks["chat"].got
    assert len(news(told)) == 2
    assert ("dead letters", "50") in last.facts


async def test_a_channel_that_is_broken_for_long_is_told_of_now_and_then() -> None:
    told = desk()
    for number in range(96):
        told.tell(lost(number, seconds=number * 900))
    assert len(news(await told.wait(2 * 86400))) == 4


async def test_what_is_lost_of_an_incident_begins_no_escalation() -> None:
    step = Escalation(after=timedelta(minutes=5), sink="chat")
    told = desk(route("log", escalate=(step,)))
    await told.tell(lost(1)).wait(3600)
    assert not told.sinks["chat"].got


async def test_a_message_that_a_service_could_not_take_is_told_in_the_pools_thread_and_names_its_incident() -> None:
    letter = DeadLettered(
        id=EventId("d"), time=at(0), pool=POOL, incident=INCIDENT, service=Service.DIAGNOSER, about="LogMatched",
        because="broken",
    )  # fmt: skip
    told = await desk().tell(letter, letter.model_copy(update={"id": "e"})).deliver()
    assert [(one.thread, one.sequence, one.incident) for one in told.sinks["chat"].got] == [
        (POOL_KEY, 1, INCIDENT), (POOL_KEY, 2, INCIDENT),
    ]  # fmt: skip


async def test_news_of_it_that_the_last_way_does_not_take_either_is_no_letter_again() -> None:
    told = await desk(route("feishu"), route("chat")).tell(opened()).deliver()
    told.sinks["chat"].raises = [Permanent("gone", code="410")] * 10
    await told.tell(diagnosed()).deliver()
    letters = [letter for letter, _ in told.letters]
    assert not [one for one in letters if getattr(one, "event", "") == "DeadLettered"]
    dropped = [one for one in told.endings if isinstance(one, NotificationDropped)]
    assert len(dropped) == len(told.letters) + 1, "the news of it was dropped without a letter"


async def test_an_address_is_told_apart_by_its_hash() -> None:
    told = desk(route("chat"), route(HOOK))
    one = lost(1).model_copy(update={"channel": "", "address": mark(HOOK), "because": "answered 410 (code 410)"})
    await told.tell(one).deliver()
    assert news(told) == ["A webhook of a rule does not deliver"]
    assert not news(told, HOOK)
    assert JOB.uid in told.folds
