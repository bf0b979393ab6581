"""Subjects tell who speaks, of agents also for which task, so that the server can hold everybody to his own."""

import pytest

from keepstep.contracts.events import SAID_BY, DeadlinePassed, IncidentClosed, NodeReported, RankExited
from keepstep.contracts.ids import NodeName, Pool
from keepstep.contracts.message import Message, messages
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.subjects import kind_pattern, speakers, subject_of
from keepstep.contracts.taxonomy import Service
from tests.contracts.examples import example


def of(kind: type[Message], **changes: object) -> str:
    message = example(kind)
    assert isinstance(message, Message)
    return subject_of(message.model_copy(update=changes))


def test_an_agent_s_subject_ends_in_its_task() -> None:
    assert of(RankExited) == "keepstep.pool-1.RankExited.uid-1.agent.task-1"


def test_a_node_agent_s_subject_ends_in_its_node() -> None:
    there = {"job": None, "task": None, "node": NodeName("a.b")}
    assert of(NodeReported, **there) == "keepstep.pool-1.NodeReported.a_2eb.agent.a_2eb"


def test_an_order_is_people_s() -> None:
    assert of(CreateJob).endswith(".people")


@pytest.mark.parametrize("service", sorted(SAID_BY.keys() & set(Service)))
def test_a_word_that_all_services_say_travels_under_the_name_of_the_one_that_says_it(service: str) -> None:
    assert of(DeadlinePassed, service=Service(service)).split(".")[4:] == [service]


def test_a_service_that_may_not_say_it_has_no_subject_for_it() -> None:
    with pytest.raises(ValueError, match="notifier does not say IncidentClosed"):
        of(IncidentClosed, service=Service.NOTIFIER)


def test_every_message_has_a_subject_of_each_of_its_speakers_and_no_two_share_one() -> None:
    patterns = [
        kind_pattern(Pool("p"), name, speaker=who) for name, kind in messages().items() for who in speakers(kind)
    ]
    assert len(set(patterns)) == len(patterns) >= len(messages())
