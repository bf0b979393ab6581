"""An open incident says what it waits for, since when and for how long; from its messages and its job's policy."""

from datetime import timedelta
from typing import Any

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Applied, Language, Level
from keepstep.contracts.topology import JobRef
from keepstep.core import timeline
from keepstep.core.awaiting import Awaited, Ground, awaited, ground_of
from keepstep.core.course import Awaits
from keepstep.core.known_job import KnownJob
from keepstep.core.words.reading import reading, told
from tests.core.test_timeline import INCIDENT, JOB, at, closed, diagnosed, fault, fields, opened

REFS = [{"name": f"w{i}", "uid": f"t{i}", "index": i} for i in (0, 1)]
PLACED = [{"task": ref, "node": f"n{i}", "ranks": (i,)} for i, ref in enumerate(REFS)]


def said(kind: type[Message], second: float, **more: Any) -> Message:
    name = f"{kind.__name__}-{second}-{more.get('task', '')}"
    return kind.model_validate(fields(name, second, incident=INCIDENT, **more))


def answer(kind: type[Message], second: float, **more: Any) -> Message:
    return said(kind, second, cause=diagnosed().id, because="why", **more)


def planned(level: Level, second: float = 10.5, **more: Any) -> Message:
    return said(
        e.RecoveryPlanned, second, attempt=1, level=level, to_generation=2, because="mildest", expected=REFS, **more
    )


def started(second: float = 10.6) -> Message:
    return said(e.RecoveryStarted, second, attempt=1, level=Level.POD, from_generation=1, to_generation=2)


def applied(task: str, what: Applied, second: float, generation: int = 2) -> Message:
    return said(e.PlanApplied, second, task=task, generation=generation, applied=what, digest="d")


def waits(*messages: Message, ground: Ground | None = None) -> Awaited | None:
    record = timeline.Record()
    for message in (fault(), opened(), *messages):
        record = timeline.tell(record, message)
    (incident,) = record.incidents
    return awaited(incident, ground or Ground())


CHOSEN = answer(e.CheckpointChosen, 10.42, step=20, path="/c/20")
DECLINED = answer(e.IsolationDeclined, 10.41)
POD = (diagnosed(), DECLINED, CHOSEN, planned(Level.POD, replace=["t9"]), started())
STOPPED = applied("t0", Applied.STOPPED, 11)
ROOM = said(e.JobWaiting, 12, because="no room")
RANKS = said(e.RanksStarted, 15, generation=2, attempt=1, placement=PLACED)


@pytest.mark.parametrize(
    ("messages", "what", "since", "limit_s"),
    [
        ((), Awaits.VERDICT, 10.1, 2),
        ((diagnosed(),), Awaits.ANSWERS, 10.3, 5),
        ((diagnosed(), CHOSEN), Awaits.ISOLATION, 10.3, 5),
        ((diagnosed(), DECLINED), Awaits.CHECKPOINT, 10.3, 5),
        ((diagnosed(), DECLINED, CHOSEN), Awaits.PLAN, 10.42, None),
        ((diagnosed(), planned(Level.WAIT)), Awaits.CLEARING, 10.5, 60),
        (POD, Awaits.STOP, 10.6, 15),
        ((*POD, applied("t0", Applied.STOPPED, 11, generation=1)), Awaits.STOP, 10.6, 15),
        ((*POD, STOPPED), Awaits.TASKS, 11, 1199.5),
        ((*POD, STOPPED, ROOM), Awaits.PLACE, 12, None),
        ((*POD, STOPPED, said(e.JobWaiting, 12, because="b", suspended=True)), Awaits.SUSPENSION, 12, None),
        ((*POD, STOPPED, ROOM, applied("t1", Applied.STARTED, 14)), Awaits.RANKS, 14, 1196.5),
        ((planned(Level.IN_PLACE), STOPPED, applied("t1", Applied.STOPPED, 11.1)), Awaits.RANKS, 11.1, 899.4),
        ((*POD, STOPPED, RANKS), Awaits.FIRST_STEP, 15, 1195.5),
        ((*POD, said(e.RecoveryFailed, 16, attempt=1, level=Level.POD, because="b")), Awaits.PLAN, 16, None),
    ],
)
def test_it_waits_for_what_is_to_be_said_next(
    messages: tuple[Message, ...], what: Awaits, since: float, limit_s: float | None
) -> None:
    found = waits(*messages)
    assert found is not None
    assert (found.what, found.since, found.limit_s) == (what, at(since), limit_s)


def test_one_that_is_closed_or_whose_job_has_ended_waits_for_nothing() -> None:
    assert waits(diagnosed(), closed()) is None
    job = KnownJob(JOB)
    job.hear(e.JobDeleted.model_validate(fields("gone", 20)))
    assert waits(diagnosed(), ground=ground_of(job)) is None


def test_with_all_answered_and_actions_paused_it_waits_for_a_person() -> None:
    job = KnownJob(JOB)
    job.hear(e.ActionsPaused.model_validate(fields("pause", 2, by="ann")))
    found = waits(diagnosed(), DECLINED, CHOSEN, ground=ground_of(job))
    assert found is not None
    assert (found.what, found.since, found.limit_s) == (Awaits.PEOPLE, at(10.42), None)
    job.hear(e.ActionsResumed.model_validate(fields("go", 20, by="ann")))
    found = waits(diagnosed(), DECLINED, CHOSEN, ground=ground_of(job))
    assert found is not None
    assert found.what is Awaits.PLAN


def test_an_overdue_one_waits_for_whoever_looks_after_it() -> None:
    overdue = said(e.IncidentOverdue, 4000, opened=at(10.1), because="open past 3665 s")
    found = waits(*POD, STOPPED, ROOM, overdue)
    assert found is not None
    assert (found.what, found.since) == (Awaits.ACKNOWLEDGEMENT, at(4000))
    assert "a place" in found.sentence
    found = waits(*POD, STOPPED, ROOM, overdue, said(e.IncidentAcknowledged, 4001, by="ann"))
    assert found is not None
    assert found.what is Awaits.PLACE


def test_the_limits_are_those_of_the_job() -> None:
    policy = Policy(recovery=RecoveryPolicy(pending_limit=timedelta(seconds=90), join_deadline=timedelta(seconds=7)))
    found = waits(*POD, STOPPED, ROOM, ground=Ground(policy=policy))
    assert found is not None
    assert found.limit_s == 90
    found = waits(diagnosed(), ground=Ground(policy=policy))
    assert found is not None
    assert found.limit_s == 7


def test_one_that_is_no_job_s_waits_for_the_release_of_its_node() -> None:
    record = timeline.Record()
    for kind, second, more in (
        (e.IncidentOpened, 10, {"fault": "f", "because": "b"}),
        (e.NodeIsolated, 11, {"reason": "r", "because": "b", "until": at(111), "when_ready": True,
                              "release_after": timedelta(seconds=60)}),
    ):  # fmt: skip
        message = said(kind, second, node="n3", **more).model_copy(update={"job": None})
        record = timeline.tell(record, message)
    found = awaited(record.incidents[0], Ground())
    assert found is not None
    assert (found.what, found.limit_s) == (Awaits.RELEASE, 100)
    assert "until it was ready for 60 s, or by a person" in found.sentence


def test_the_sentence_is_one_and_is_told_in_chinese() -> None:
    found = waits(*POD, STOPPED, ROOM)
    assert found is not None
    assert found.sentence == "waits for a place since 2026-01-01 00:00:12 UTC, no limit: no room"
    assert told(found.sentence, Language.ZH) == "自 2026 年 1 月 1 日 00:00:12（UTC）起等待调度资源，没有时限：资源不足"
    found = waits(diagnosed())
    assert found is not None
    assert found.sentence.endswith(", limit 5 s")
    assert reading(found.sentence).unread == 0


def test_a_drain_that_cannot_be_done_meanwhile_is_not_what_it_waits_for() -> None:
    stays = said(e.JobWaiting, 11.5, because="ops drains n1; no level can move w1 from there: why", runs=True)
    assert waits(*POD, STOPPED, stays) == waits(*POD, STOPPED)


def test_a_job_s_own_reference_tells_its_policy() -> None:
    assert ground_of(None) == Ground()
    assert ground_of(KnownJob(JobRef(name="x", uid=JOB.uid))) == Ground()
