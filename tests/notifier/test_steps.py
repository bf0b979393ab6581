"""Each message of an incident is told to a cluster's objects in its own words, or is none of theirs: a row per type."""

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.events import SAID_BY
from keepstep.contracts.ids import EventId, IncidentId, TaskUid
from keepstep.contracts.message import Event, Message, messages
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.taxonomy import Outcome, Severity
from keepstep.core.sentences import sentence
from keepstep.notifier.core import OBJECTS, Given, Notices, decide, hears, step
from keepstep.notifier.core.steps import MOST_TASKS, STEPS
from tests.contracts.examples import example
from tests.notifier.story import INCIDENT, NOW, closed, declined, diagnosed, opened, route

SILENT = {
    "AccessRefused",
    "AgentHeard",
    "CheckpointCommitted",
    "CheckpointSaved",
    "DeadLettered",
    "DeadlinePassed",
    "DetectorBlinded",
    "DetectorSighted",
    "DeviceReported",
    "EvidenceCaptured",
    "ExitSuspected",
    "FaultCleared",
    "FaultDetected",
    "FirstStepDone",
    "FoldRestated",
    "JobDeleted",
    "JobFinished",
    "JobFreed",
    "JobHeld",
    "LinkReported",
    "LogMatched",
    "LoggedIn",
    "LoggedOut",
    "NodeRecovered",
    "NodeRelapsed",
    "NodeReported",
    "NotificationDelayed",
    "NotificationDelivered",
    "NotificationDropped",
    "NotificationQueued",
    "PlanApplied",
    "PublicFaultReported",
    "RankExited",
    "RankRecovered",
    "RankStalled",
    "ReportPlaced",
    "ReportRead",
    "RestartFailed",
    "SilenceSuspected",
    "StallPassed",
    "StallSuspected",
    "TaskJoined",
    "TaskLost",
    "TaskReleased",
}
"""Telemetry, what services say to themselves, and what 512 ranks would say 512 times."""


@pytest.mark.parametrize("name", sorted(name for name, kind in messages().items() if issubclass(kind, Event)))
def test_every_event_is_told_in_its_own_words_or_is_for_machines(name: str) -> None:
    message = example(messages()[name])
    assert isinstance(message, Message)
    told = step(message)
    assert (told is None) == (name in SILENT)
    if told is not None:
        assert (told.about.reason, told.text) == (name, sentence(message))
        assert type(message) in SAID_BY[told.about.service]


def test_orders_of_people_are_no_steps() -> None:
    assert all(issubclass(kind, Event) for kind in STEPS)


def test_what_concerns_no_object_is_told_to_none() -> None:
    pool_wide = e.ActionsPaused(id=EventId("p"), time=NOW, pool=opened().pool, by="bob")
    assert step(pool_wide) is None


@pytest.mark.parametrize(
    ("outcome", "severity"), [(Outcome.RESUMED, Severity.INFO), (Outcome.FAILED, Severity.WARNING)]
)
def test_only_an_incident_that_failed_is_a_warning_at_its_end(outcome: Outcome, severity: Severity) -> None:
    told = step(closed(outcome))
    assert told is not None
    assert told.severity is severity
    assert told.facts[0] == ("outcome", outcome)


def test_the_pod_to_blame_is_told_of_the_cause() -> None:
    verdict = diagnosed()
    culprit = verdict.verdict.culprit
    assert culprit is not None
    blamed = culprit.model_copy(update={"task": TaskUid("task-3")})
    named = verdict.model_copy(update={"verdict": verdict.verdict.model_copy(update={"culprit": blamed})})
    told = step(named)
    assert told is not None
    assert told.about.tasks == ("task-3",)


def test_of_the_pods_that_are_replaced_the_first_are_told() -> None:
    planned = example(e.RecoveryPlanned)
    assert isinstance(planned, e.RecoveryPlanned)
    many = planned.model_copy(update={"replace": tuple(TaskUid(f"t{n}") for n in range(100))})
    told = step(many)
    assert told is not None
    assert len(told.about.tasks) == MOST_TASKS


def test_a_node_is_told_only_its_own_story() -> None:
    isolated, job_fault = example(e.NodeIsolated), example(e.IncidentOpened)
    assert isinstance(isolated, Message)
    assert isinstance(job_fault, Message)
    assert [told.about.node for told in (step(isolated), step(job_fault)) if told is not None] == ["node-1", None]


def tell(*messages: Message, objects: bool = True) -> Notices:
    fold = Notices()
    for message in messages:
        fold = decide(
            fold, message, NOW, given=Given(NotificationPolicy(routes=(route("log"),)), objects=objects)
        ).state
    return fold


def test_objects_are_told_beside_the_routes_and_each_message_once() -> None:
    fold = tell(opened(), opened())
    assert [(one.sink, one.title) for one in fold.pending] == [
        ("log", "Fault in job train-1"),
        (OBJECTS, "IncidentOpened"),
    ]
    about = fold.pending[1].about
    assert about is not None
    assert (about.job, about.incident, about.at) == (opened().job, INCIDENT, NOW)


def test_steps_that_no_chat_is_told_do_not_leave_gaps_in_its_numbers() -> None:
    chosen = example(e.CheckpointChosen)
    assert isinstance(chosen, Message)
    same = chosen.model_copy(update={"incident": IncidentId(INCIDENT), "job": opened().job})
    fold = tell(opened(), same, closed())
    assert [one.sequence for one in fold.pending if one.sink == "log"] == [1, 2]
    assert [one.title for one in fold.pending if one.sink == OBJECTS][1] == "CheckpointChosen"


def test_a_refusal_that_nobody_asked_for_is_no_news_on_objects_either() -> None:
    assert not tell(declined()).pending


def test_without_a_cluster_nothing_more_is_heard_or_told() -> None:
    assert all(one.sink == "log" for one in tell(opened(), closed(), objects=False).pending)
    assert e.CheckpointChosen not in hears()
    assert e.CheckpointChosen in hears(objects=True)
