"""What a listing prints of a job: everything but the addresses that are secrets."""

import json
from datetime import timedelta

import pytest

from keepstep.cli.commands.events import as_object
from keepstep.contracts.events import JobAccepted
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.notification import Escalation, NotificationPolicy, Route
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.policy import Policy
from keepstep.contracts.topology import JobRef
from keepstep.core.known_job import KnownJob
from tests.contracts.examples import example

STEP = Escalation(after=timedelta(minutes=5), sink="https://boss.example/hook?token=s3cret")
ROUTES = (Route(sink="log", escalate=(STEP,)), Route(sink="https://chat.example/hook?token=s3cret"))


@pytest.mark.parametrize("kind", [JobAccepted, CreateJob])
def test_a_webhooks_secret_is_not_printed(kind: type[JobAccepted] | type[CreateJob]) -> None:
    said = example(kind)
    assert isinstance(said, JobAccepted | CreateJob)
    spec = said.spec.model_copy(update={"policy": Policy(notification=NotificationPolicy(routes=ROUTES))})
    told: Message = said.model_copy(update={"spec": spec})
    job = KnownJob(JobRef(name="j", uid=JobUid("j-1")))
    job.hear(told)
    printed = json.dumps([as_object(told), job.as_object(told.time)])
    assert "s3cret" not in printed
    assert "https://chat.example" in printed
    assert "https://boss.example" in printed
