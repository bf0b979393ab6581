"""People are told once, in order, in one thread per incident, by the routes they asked for; secrets never show."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.events import (
    DeadLettered,
    DetectorBlinded,
    IncidentOverdue,
    IsolationDeclined,
    NodeIsolated,
    NotificationDelivered,
    NotificationDropped,
)
from keepstep.contracts.ids import EventId, IncidentId, NodeName
from keepstep.contracts.message import Message, messages
from keepstep.contracts.orders import IsolateNode
from keepstep.contracts.taxonomy import Outcome, Service, Severity
from keepstep.core.masking import masked
from keepstep.notifier.core import Deliver, Notices, decide, words
from keepstep.notifier.core.state import QUEUE
from keepstep.notifier.core.tries import MOST_TRIES
from keepstep.ports.errors import Permanent, Transient
from tests.contracts.examples import example
from tests.notifier.story import (
    ENDS,
    HOOK,
    INCIDENT,
    JOB,
    NOW,
    POOL,
    Desk,
    accepted,
    at,
    closed,
    declined,
    diagnosed,
    failed,
    opened,
    route,
)


async def test_an_incident_is_one_thread_in_order() -> None:
    desk = await Desk().tell(accepted(route("log")), opened(), diagnosed(), closed()).deliver()
    got = desk.sinks["log"].got
    assert desk.titles() == [
        "Fault in job train-1",
        "Cause in job train-1: device_hardware",
        "Incident of job train-1 closed: resumed",
    ]
    assert [(one.thread, one.sequence) for one in got] == [(INCIDENT, 1), (INCIDENT, 2), (INCIDENT, 3)]
    assert dict(got[1].facts) == {"node": "n1", "rank": "3", "attempt": "1", "rule": "xid-79"}
    assert [type(one) for one in desk.endings] == [NotificationDelivered] * 3


async def test_the_same_message_is_told_once() -> None:
    desk = await Desk().tell(accepted(route("log")), opened(), opened()).deliver()
    await desk.tell(opened()).deliver()
    assert len(desk.titles()) == 1


async def test_two_incidents_are_two_threads() -> None:
    desk = await Desk().tell(accepted(route("log")), opened("a"), opened("b")).deliver()
    assert [(one.thread, one.sequence) for one in desk.sinks["log"].got] == [("a", 1), ("b", 1)]


async def test_routes_choose_by_severity_and_job_and_each_sink_once() -> None:
    routes = (
        route("log"),
        route("pager", Severity.CRITICAL),
        route("chat", Severity.WARNING, "train-*"),
        route("chat", Severity.CRITICAL),
        route("other", jobs="eval-*"),
    )
    desk = Desk("log", "pager", "chat", "other").tell(accepted(*routes), opened(), closed(), failed())
    assert len(desk.folds[JOB.uid].pending) == 6
    await desk.deliver()
    assert [len(desk.titles(sink)) for sink in ("log", "pager", "chat", "other")] == [3, 1, 2, 0]


async def test_a_refused_isolation_is_news_only_if_somebody_asked() -> None:
    asked = await Desk().tell(accepted(route("log")), diagnosed(isolate=True), declined()).deliver()
    quiet = await Desk().tell(accepted(route("log")), diagnosed(isolate=False), declined()).deliver()
    assert asked.titles()[-1] == "Node without a name not isolated"
    assert len(quiet.titles()) == 1


async def test_incidents_that_share_one_cause_say_so() -> None:
    shared = declined().model_copy(update={"incidents": 2, "group": "g", "because": "2 incidents share one cause"})
    desk = await Desk().tell(accepted(route("log")), diagnosed(), shared).deliver()
    told = desk.sinks["log"].got[-1]
    assert told.title == "2 incidents share one cause, job train-1 too"
    assert (told.text, dict(told.facts)) == (shared.because, {"incidents of one cause": "2", "group": "g"})
    ending = words(closed().model_copy(update={"group": "g"}))
    assert ending is not None
    assert ("group", "g") in ending.facts


async def test_a_person_whose_isolation_is_refused_is_told() -> None:
    order = IsolateNode(id=EventId("o"), time=NOW, pool=POOL, node=NodeName("n1"), by="alice", reason="r")
    answer = IsolationDeclined(
        id=EventId("a"), time=NOW, pool=POOL, node=NodeName("n1"), cause=order.id, because="cordoned by kured"
    )
    desk = await Desk().tell(order, answer).deliver()
    assert desk.titles() == ["Node n1 not isolated"]


async def test_an_incident_that_stays_open_is_told_at_critical_severity_and_once() -> None:
    late = IncidentOverdue(
        id=EventId("late"), time=NOW, pool=POOL, job=JOB, incident=IncidentId("i"), opened=NOW, because="open past 60 s"
    )
    desk = await Desk().tell(late, late).deliver()
    assert [(one.severity, one.title) for one in desk.sinks["log"].got] == [
        ("critical", f"Incident of job {JOB.name} is still open")
    ]


async def test_what_belongs_to_no_job_goes_to_the_pools_routes() -> None:
    blind = DetectorBlinded(id=EventId("b"), time=NOW, pool=POOL, silent=40, total=100, because="40 of 100 silent")
    letter = DeadLettered(
        id=EventId("d"), time=NOW, pool=POOL, service=Service.DIAGNOSER, about="LogMatched", number=7, because="broken"
    )
    node = NodeIsolated(id=EventId("n"), time=NOW, pool=POOL, node=NodeName("n1"), reason="r", because="b")
    desk = await Desk().tell(blind, letter, node).deliver()
    assert sorted((one.severity, one.title) for one in desk.sinks["log"].got) == [
        ("critical", "Detector of pool p is blind"),
        ("critical", "diagnoser could not take a LogMatched"),
        ("warning", "Node n1 isolated"),
    ]


def test_its_own_events_are_never_told() -> None:
    for name, kind in messages().items():
        message = example(kind)
        assert isinstance(message, Message)
        assert (words(message) is None) or not name.startswith("Notification")


@pytest.mark.parametrize(("outcome", "severity"), [(Outcome.RESUMED, "info"), (Outcome.FAILED, "critical")])
def test_the_end_of_an_incident_is_as_urgent_as_its_outcome(outcome: Outcome, severity: str) -> None:
    said = words(closed(outcome))
    assert said is not None
    assert said.severity == severity


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


STORY = [opened(), diagnosed(isolate=True), declined(), closed(), failed()]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(STORY), max_size=15))
def test_any_order_and_any_duplicates_queue_each_message_once(story: list[Message]) -> None:
    desk = Desk().tell(accepted(route("log")), *story)
    ids = [one.origin.id for one in desk.folds[JOB.uid].pending]
    assert len(ids) == len(set(ids))
    assert {one.id for one in story} - set(ids) <= {"declined"}


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


async def test_an_address_with_a_secret_never_shows() -> None:
    desk = Desk(HOOK).tell(accepted(route(HOOK)), opened(), closed())
    desk.sinks[HOOK].raises = [Transient("away"), Permanent("gone")]
    shown = [repr(list(desk.stage.effects(fold))) for fold in desk.folds.values()]
    shown += [effect.id for fold in desk.folds.values() for effect in desk.stage.effects(fold)]
    await desk.deliver()
    await desk.later()
    shown += [said.model_dump_json() for said in desk.said]
    assert len(desk.endings) == 2
    assert not [text for text in shown if "s3cret" in text or "pass@" in text or "/robot" in text]
    assert desk.endings[0].sink == "https://hooks.example.com:8443"


@pytest.mark.parametrize(
    ("sink", "shown"),
    [
        ("log", "log"),
        (HOOK, "https://hooks.example.com:8443"),
        ("http://[::1]:80/x", "http://[::1]:80"),
        ("https://HOST/secret", "https://host"),
        ("http://[broken/secret", "http"),
        ("http://h:port/secret", "http"),
        ("dingtalk:secret", "dingtalk"),
    ],
)
def test_of_an_address_only_the_host_shows(sink: str, shown: str) -> None:
    assert masked(sink) == shown


def test_a_fold_of_an_older_reader_is_read() -> None:
    state = decide(None, opened(), NOW, pool=accepted(route("log")).spec.policy.notification).state
    assert Notices.model_validate_json(state.model_dump_json()) == state
