"""People are told once, in order, in one thread per incident, by the routes they asked for."""

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
)
from keepstep.contracts.ids import EventId, IncidentId, NodeName
from keepstep.contracts.message import Message, messages
from keepstep.contracts.orders import IsolateNode
from keepstep.contracts.taxonomy import Outcome, Service, Severity
from keepstep.notifier.core import Given, Notices, decide, words
from tests.contracts.examples import example
from tests.notifier.story import (
    INCIDENT,
    JOB,
    NOW,
    POOL,
    Desk,
    accepted,
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
    assert dict(got[1].facts) == {
        "category": "device_hardware",
        "node": "n1",
        "rank": "3",
        "attempt": "1",
        "rule": "xid-79",
    }
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
    desk = await Desk("log", "pager", "chat", "other").tell(accepted(*routes), opened(), closed(), failed()).deliver()
    assert len(desk.endings) == 7
    assert [len(desk.titles(sink)) for sink in ("log", "pager", "chat", "other")] == [3, 1, 3, 0]


async def test_a_refused_isolation_is_news_only_if_somebody_asked() -> None:
    asked = await Desk().tell(accepted(route("log")), diagnosed(isolate=True), declined()).deliver()
    quiet = await Desk().tell(accepted(route("log")), diagnosed(isolate=False), declined()).deliver()
    assert asked.titles()[-1] == "Node without a name not isolated"
    assert len(quiet.titles()) == 1


async def test_a_storm_of_isolations_that_is_held_calls_a_person() -> None:
    held = declined().model_copy(update={"held": True, "node": "n6", "because": "held for a person: 5 isolations"})
    told = (accepted(route("pager", Severity.CRITICAL)), diagnosed(isolate=True), held)
    desk = await Desk("pager").tell(*told).deliver()
    assert [(one.severity, one.title) for one in desk.sinks["pager"].got] == [
        ("critical", "Isolation stopped: node n6 waits for a person")
    ]


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


STORY = [opened(), diagnosed(isolate=True), declined(), closed(), failed()]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(STORY), max_size=15))
def test_any_order_and_any_duplicates_queue_each_message_once(story: list[Message]) -> None:
    desk = Desk().tell(accepted(route("log")), *story)
    ids = [one.origin.id for one in desk.folds[JOB.uid].pending]
    assert len(ids) == len(set(ids))
    assert {one.id for one in story} - set(ids) <= {"declined"}


def test_a_fold_of_an_older_reader_is_read() -> None:
    state = decide(None, opened(), NOW, given=Given(accepted(route("log")).spec.policy.notification)).state
    assert Notices.model_validate_json(state.model_dump_json()) == state


OLDER = """{
 "policy": {"routes": [{"sink": "log", "minimum": "info", "jobs": "*"}]},
 "threads": {"incident-1": 1},
 "pending": [{
  "id": "n1", "origin": {"id": "opened-incident-1", "time": "2026-01-01T00:00:00Z", "pool": "p",
   "job": {"name": "train-1", "uid": "job-1"}, "incident": "incident-1"},
  "sink": "log", "thread": "incident-1", "sequence": 1, "severity": "warning", "title": "Fault in job train-1",
  "text": "rank 3 was killed", "facts": [["rank", "3"]], "about": null, "tries": 0, "again": null}],
 "told": ["opened-incident-1"], "asked": [], "living": true, "heard_at": "2026-01-01T00:00:00Z", "forgotten": false
}"""
"""As it was written before there were channels."""


async def test_a_fold_from_before_there_were_channels_goes_on_where_it_was() -> None:
    desk = Desk()
    desk.folds[JOB.uid] = Notices.model_validate_json(OLDER)
    await desk.deliver()
    await desk.tell(opened(), closed()).deliver()
    assert [(one.sequence, one.title) for one in desk.sinks["log"].got] == [
        (1, "Fault in job train-1"),
        (2, "Incident of job train-1 closed: resumed"),
    ]
