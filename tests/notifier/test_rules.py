"""Rules: who is told is chosen by where, what, why and how bad; each sink once, calling all whom any rule calls."""

from datetime import time, timedelta
from typing import Any

import pytest

from keepstep.contracts.channel_parts import QuietHours
from keepstep.contracts.events import JobFound, JobResumed, JobStarted, JobSucceeded, NodeIsolated
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.notification import Escalation, NotificationPolicy, Route
from keepstep.contracts.taxonomy import AlertKind, Category, Level, Severity, Stage
from keepstep.notifier.core.rules import Case, matches, recipients
from keepstep.notifier.core.state import TOLD
from tests.notifier.story import JOB, NOW, POOL, Desk, accepted, closed, diagnosed, failed, opened, route

CASE = Case(
    Severity.WARNING,
    (AlertKind.HANG, AlertKind.TOLERANCE),
    Stage.DIAGNOSED,
    "blue",
    job="llm-7b",
    namespace="research",
    labels={"team": "nlp", "tier": "1"},
    category=Category.HANG,
)


@pytest.mark.parametrize(
    ("rule", "matching"),
    [
        ({}, True),
        ({"minimum": "warning"}, True),
        ({"minimum": "critical"}, False),
        ({"jobs": "llm-*"}, True),
        ({"jobs": "eval-*"}, False),
        ({"pools": "b*"}, True),
        ({"pools": "green"}, False),
        ({"namespaces": "research"}, True),
        ({"namespaces": "prod*"}, False),
        ({"labels": {"team": "nlp"}}, True),
        ({"labels": {"team": "n*", "tier": "[12]"}}, True),
        ({"labels": {"team": "vision"}}, False),
        ({"labels": {"owner": "*"}}, False),
        ({"categories": ("hang", "network")}, True),
        ({"categories": ("network",)}, False),
        ({"kinds": ("tolerance",)}, True),
        ({"kinds": ("hang",)}, True),
        ({"kinds": ("node_fault", "job_failed")}, False),
        ({"stages": ("diagnosed",)}, True),
        ({"stages": ("opened",)}, False),
        ({"jobs": "llm-*", "categories": ("network",)}, False),
    ],
    ids=str,
)
def test_a_rule_matches_by_everything_that_it_names(rule: dict[str, Any], matching: bool) -> None:
    assert matches(Route.model_validate({"sink": "chat"} | rule), CASE) is matching


def test_a_case_without_a_cause_matches_no_rule_that_asks_for_one() -> None:
    unknown = Case(Severity.WARNING, (AlertKind.TOLERANCE,), Stage.OPENED, "blue")
    assert not matches(route("chat", categories=(Category.HANG,)), unknown)


def test_a_sink_that_several_rules_name_gets_one_message_that_calls_all_of_them() -> None:
    night = QuietHours(start=time(0), end=time(12))
    rules = (
        route("chat", mention=("alice",), quiet=(night,), gather=timedelta(seconds=60)),
        route("chat", mention=("bob", "alice")),
        route("mail", quiet=(night,)),
    )
    chat, mail = recipients(rules, CASE, NOW)
    assert (chat.sink, chat.mention, chat.hold, chat.gather) == ("chat", ("alice", "bob"), None, timedelta(0))
    assert (mail.sink, mail.hold) == ("mail", NOW + timedelta(hours=12))


async def test_a_job_is_matched_by_the_namespace_and_labels_of_its_object() -> None:
    found = JobFound(
        id=EventId("found"),
        time=NOW,
        pool=POOL,
        job=JOB,
        spec=accepted().spec,
        kind="PyTorchJob research/train-1",
        levels=(Level.POD,),
        labels={"team": "nlp"},
    )
    rules = (route("chat", namespaces="research", labels={"team": "nlp"}), route("other", namespaces="prod"))
    desk = await Desk("chat", "other").tell(found, accepted(*rules), opened()).deliver()
    assert (len(desk.titles("chat")), len(desk.titles("other"))) == (1, 0)


async def test_a_local_job_is_matched_by_the_labels_of_its_specification() -> None:
    word = accepted(route("chat", labels={"team": "nlp"}))
    labelled = word.model_copy(update={"spec": word.spec.model_copy(update={"labels": {"team": "nlp"}})})
    plain = await Desk("chat").tell(word, opened()).deliver()
    named = await Desk("chat").tell(labelled, opened()).deliver()
    assert (len(plain.titles("chat")), len(named.titles("chat"))) == (0, 1)


async def test_a_rule_for_a_cause_tells_an_incident_from_its_verdict_to_its_end() -> None:
    rules = (route("chat", categories=(Category.DEVICE_HARDWARE,)), route("other", categories=(Category.NETWORK,)))
    desk = await Desk("chat", "other").tell(accepted(*rules), opened(), diagnosed(), resumed()).deliver()
    assert [one.stage for one in desk.sinks["chat"].got] == [Stage.DIAGNOSED, Stage.RESUMED]
    assert not desk.titles("other")


def resumed() -> JobResumed:

    return JobResumed(
        id=EventId("resumed"),
        time=NOW,
        pool=POOL,
        job=JOB,
        incident=opened().incident,
        attempt=1,
        level=Level.POD,
        step=20,
        lost_steps=3,
        because="all tasks stepped",
    )


LIFE = [
    (JobStarted(id=EventId("s"), time=NOW, pool=POOL, job=JOB, placement=()), AlertKind.JOB_RUNNING),
    (JobSucceeded(id=EventId("w"), time=NOW, pool=POOL, job=JOB), AlertKind.JOB_SUCCEEDED),
    (failed(), AlertKind.JOB_FAILED),
]


@pytest.mark.parametrize(("message", "kind"), LIFE, ids=[kind for _, kind in LIFE])
async def test_each_kind_of_a_jobs_life_is_told_once_to_whom_asked_for_it(message: Message, kind: AlertKind) -> None:
    again = message.model_copy(update={"id": EventId("again")})
    others = tuple(one for one in AlertKind if one is not kind)
    rules = (route("chat", kinds=(kind,)), route("other", kinds=others))
    desk = await Desk("chat", "other").tell(accepted(*rules), message, message, again).deliver()
    assert [one.kind for one in desk.sinks["chat"].got] == [kind]
    assert not desk.titles("other")


async def test_a_broken_node_is_told_once_an_incident_to_whom_asked_for_node_faults() -> None:
    isolated = NodeIsolated(
        id=EventId("i"),
        time=NOW,
        pool=POOL,
        job=JOB,
        node=NodeName("n1"),
        incident=opened().incident,
        reason="Xid 79",
        because="confidence 1.0",
    )
    rules = (route("pager", kinds=(AlertKind.NODE_FAULT,)), route("chat", kinds=(AlertKind.TOLERANCE,)))
    desk = await Desk("pager", "chat").tell(accepted(*rules), opened(), diagnosed(), isolated).deliver()
    assert [one.stage for one in desk.sinks["pager"].got] == [Stage.DIAGNOSED]
    assert [one.stage for one in desk.sinks["chat"].got] == [Stage.OPENED, Stage.DIAGNOSED, Stage.ISOLATED]


async def test_a_rule_of_one_kind_gets_one_message_and_the_end_however_often_the_verdict_is_revised() -> None:
    first = diagnosed()
    hang = first.model_copy(update={"verdict": first.verdict.model_copy(update={"category": Category.HANG})})
    again = hang.model_copy(update={"id": EventId("revised"), "revision": 1})
    rules = (route("pager", kinds=(AlertKind.HANG,)), route("chat", kinds=(AlertKind.TOLERANCE,)))
    desk = await Desk("pager", "chat").tell(accepted(*rules), opened(), hang, again, closed()).deliver()
    assert [one.kind for one in desk.sinks["pager"].got] == [AlertKind.HANG, AlertKind.TOLERANCE]
    assert len(desk.titles("chat")) == 4


async def test_nothing_is_called_a_hang_where_nobody_looks_for_hangs() -> None:
    first = diagnosed()
    hang = first.model_copy(update={"verdict": first.verdict.model_copy(update={"category": Category.HANG})})
    word = accepted(route("pager", kinds=(AlertKind.HANG,)), route("chat"))
    detection = word.spec.policy.detection.model_copy(update={"hang_detection": False})
    policy = word.spec.policy.model_copy(update={"detection": detection})
    off = word.model_copy(update={"spec": word.spec.model_copy(update={"policy": policy})})
    desk = await Desk("pager", "chat").tell(off, opened(), hang).deliver()
    assert not desk.titles("pager")
    assert [one.kind for one in desk.sinks["chat"].got] == [AlertKind.TOLERANCE] * 2


def test_steps_of_an_escalation_that_are_out_of_order_are_refused() -> None:
    steps = (Escalation(after=timedelta(seconds=60)), Escalation(after=timedelta(seconds=30)))
    with pytest.raises(ValueError, match="put them in order"):
        route("chat", escalate=steps)


@pytest.mark.parametrize(
    "sink", ["log", "https://hooks.example.com/x?token=s3cret", "hooks.example.com/robot?k=s3cret"]
)
def test_hours_for_an_address_are_refused_without_its_secret(sink: str) -> None:
    with pytest.raises(ValueError, match="quiet and gather need a channel") as refused:
        route(sink, gather=timedelta(seconds=5))
    assert "s3cret" not in str(refused.value)


async def test_a_job_that_names_nobody_goes_by_the_pools_rules_with_its_own_namespace_and_labels() -> None:
    rules = (route("chat", jobs="train-*", labels={"team": "nlp"}), route("other", labels={"team": "vision"}))
    word = accepted(*NotificationPolicy().routes)
    labelled = word.model_copy(update={"spec": word.spec.model_copy(update={"labels": {"team": "nlp"}})})
    desk = await Desk("log", "chat", "other", pool=rules).tell(labelled, opened()).deliver()
    assert [len(desk.titles(sink)) for sink in ("log", "chat", "other")] == [0, 1, 0]


async def test_a_job_with_rules_of_its_own_goes_by_these_alone() -> None:
    desk = await Desk("chat", "other", pool=(route("other"),)).tell(accepted(route("chat")), opened()).deliver()
    assert (len(desk.titles("chat")), len(desk.titles("other"))) == (1, 0)


async def test_a_long_incident_with_an_escalation_has_nothing_told_a_second_time() -> None:
    """Each message of it noted the same mark once more, until those of the job's life were pushed out."""
    started, _ = LIFE[0]
    rule = route("chat", kinds=(AlertKind.JOB_RUNNING,), escalate=(Escalation(after=timedelta(days=1)),))
    every = route("other", escalate=(Escalation(after=timedelta(days=1)),))
    desk = await Desk("chat", "other").tell(accepted(rule, every), started, opened()).deliver()
    for number in range(TOLD + 1):
        desk.tell(diagnosed().model_copy(update={"id": EventId(f"v{number}"), "revision": number}))
    await desk.tell(started.model_copy(update={"id": EventId("again")})).deliver()
    assert len(desk.titles("chat")) == 1
