"""What a listing prints of a job: everything but the addresses that are secrets."""

import json
from datetime import timedelta

import pytest

from keepstep.cli.commands.events import as_object
from keepstep.contracts.events import FoldRestated, JobAccepted, JobFound
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message, messages
from keepstep.contracts.notification import Escalation, NotificationPolicy, Route
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.policy import Policy
from keepstep.contracts.topology import JobRef
from keepstep.core.known_job import KnownJob
from keepstep.runtime.packing import pack
from tests.contracts.examples import example

STEP = Escalation(after=timedelta(minutes=5), sink="https://boss.example/hook?token=s3cret")
ROUTES = (Route(sink="log", escalate=(STEP,)), Route(sink="https://chat.example/hook?token=s3cret"))


WITH_RULES = [kind for kind in messages().values() if "Route" in kind.model_json_schema().get("$defs", {})]


def test_who_carries_rules_is_known() -> None:
    assert {*WITH_RULES} == {JobAccepted, JobFound, CreateJob}


@pytest.mark.parametrize("kind", WITH_RULES, ids=lambda kind: kind.__name__)
def test_a_webhooks_secret_is_not_printed(kind: type[Message]) -> None:
    said = example(kind)
    assert isinstance(said, JobAccepted | JobFound | CreateJob)
    spec = said.spec.model_copy(update={"policy": Policy(notification=NotificationPolicy(routes=ROUTES))})
    told: Message = said.model_copy(update={"spec": spec})
    job = KnownJob(JobRef(name="j", uid=JobUid("j-1")))
    job.hear(told)
    printed = json.dumps([as_object(told), job.as_object(told.time)])
    assert "s3cret" not in printed
    assert "https://chat.example" in printed
    assert "https://boss.example" in printed


def test_a_fold_that_is_restated_is_for_its_service_alone() -> None:
    said = example(FoldRestated)
    assert isinstance(said, FoldRestated)
    state = json.dumps({"pending": [{"sink": "https://chat.example/hook?token=s3cret"}]})
    for written in (state, pack(state, over=1)):
        printed = as_object(said.model_copy(update={"state": written}))
        assert printed["state"] == "***"
        assert printed["scope"] == said.scope
