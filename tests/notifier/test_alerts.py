"""Kinds and stages: each of them is reached by something that is said, and by nothing twice."""

import pytest

from keepstep.contracts.events import FaultDiagnosed, IncidentClosed, IsolationDeclined, JobWaiting
from keepstep.contracts.message import Message, messages
from keepstep.contracts.taxonomy import AlertKind, Category, Outcome, Stage
from keepstep.notifier.core import escalation, words
from keepstep.notifier.core.alerts import alert
from keepstep.notifier.core.state import Climb
from tests.contracts.examples import example
from tests.notifier.story import INCIDENT, NOW, closed, diagnosed, opened


def told() -> list[Message]:
    """Return one message of every type that people are told of, and of those that differ by a field each form."""
    made = [example(kind) for kind in messages().values()]
    whole = [one for one in made if isinstance(one, Message) and words(one) is not None]
    return [
        *whole,
        *(form for one in whole for form in forms(one)),
        *(one.model_copy(update={"job": None, "incident": None}) for one in whole),
    ]


def forms(message: Message) -> list[Message]:
    match message:
        case FaultDiagnosed():
            verdicts = [message.verdict.model_copy(update={"category": one}) for one in Category]
            return [message.model_copy(update={"verdict": one}) for one in verdicts]
        case IncidentClosed():
            return [message.model_copy(update={"outcome": one}) for one in Outcome]
        case IsolationDeclined():
            return [message.model_copy(update={"held": one}) for one in (True, False)]
        case JobWaiting():
            whys: tuple[dict[str, bool], ...] = ({"suspended": True}, {"runs": True}, {})
            return [message.model_copy(update={"suspended": False, "runs": False} | one) for one in whys]
        case _:
            return []


def test_every_kind_of_alert_is_reached() -> None:
    assert {kind for one in told() for kind in alert(one).kinds} == set(AlertKind)


def test_every_stage_is_reached_and_only_what_is_no_message_is_a_note() -> None:
    climb = Climb(id="c", thread=INCIDENT, sink="log", due=NOW, since=NOW, title="t", origin=opened())
    found = {alert(one).stage for one in told()} | {escalation.escalated(climb, 1, NOW).alert.stage}
    assert found == set(Stage) - {Stage.NOTE}, "a note is a digest, or the message of keepstep notify test"


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        (opened(), (AlertKind.TOLERANCE,)),
        (diagnosed(), (AlertKind.NODE_FAULT, AlertKind.TOLERANCE)),
        (closed(), (AlertKind.TOLERANCE,)),
        (opened().model_copy(update={"job": None}), (AlertKind.NODE_FAULT,)),
    ],
)
def test_a_message_is_told_as_its_narrowest_kind(message: Message, kinds: tuple[AlertKind, ...]) -> None:
    assert alert(message).kinds == kinds
