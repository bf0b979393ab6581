"""What becomes of what was asked: nodes isolated and released, expiries, jobs that come and go."""

from datetime import datetime

from keepstep.contracts.events import (
    DeadlinePassed,
    IsolationDeclined,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobSucceeded,
    NodeIsolated,
    NodeRecovered,
    NodeRelapsed,
    NodeReleased,
    ReleaseDeclined,
)
from keepstep.contracts.ids import NodeName
from keepstep.core.decision import Decision
from keepstep.isolator.core import answers
from keepstep.isolator.core.hear import hear, origin_of
from keepstep.isolator.core.state import EXPIRY, RECENT, Asker, Isolation, Isolations, Job, Release, Request, Way


@hear.register
def _isolated(message: NodeIsolated, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    request = next((one for one in fold.requests if one.origin.id == message.cause), None)
    if request is None:
        return Decision(fold.with_answered(message.cause))
    isolation = _isolation(message, request)
    state = fold.with_answered(message.cause)
    update: dict[str, object] = {"isolations": state.isolations | {request.node: isolation}}
    if request.asker is Asker.RULE:
        update["recent"] = (*state.recent, message.time)[-RECENT:]
    state = state.model_copy(update=update)
    if request.revised:
        state = state.with_release(Release(origin=isolation.origin, node=request.node, because=request.revised))
    return Decision(state)


def _isolation(message: NodeIsolated, request: Request) -> Isolation:
    return Isolation(
        origin=origin_of(message),
        node=request.node,
        asker=request.asker,
        by=request.by,
        reason=request.reason,
        category=request.category,
        way=request.way,
        since=request.origin.time,
        until=message.until,
        attempt=request.attempt,
        release_after=request.policy.release_after,
        group=message.group,
    )


@hear.register
def _declined(message: IsolationDeclined, fold: Isolations, now: datetime) -> Decision[Isolations]:
    request = next((one for one in fold.requests if one.origin.id == message.cause), None)
    if request is None:
        return Decision(fold)
    ends = answers.closed(message, category=request.category, because=message.because, now=now, group=message.group)
    return Decision(fold.with_answered(message.cause), ends)


@hear.register
def _released(message: NodeReleased, fold: Isolations, now: datetime) -> Decision[Isolations]:
    gone = fold.isolations.get(message.node) if message.node else None
    asked = any(one.origin.id == message.cause for one in fold.releases)
    state = fold.with_answered(message.cause)
    if gone is None or not (asked or message.cause == gone.origin.id):
        return Decision(state)
    left = {node: one for node, one in state.isolations.items() if node != gone.node}
    ends = answers.closed(gone.origin, category=gone.category, because=message.because, now=now, group=gone.group)
    return Decision(state.model_copy(update={"isolations": left}).with_answered(gone.origin.id), ends)


@hear.register
def _not_released(message: ReleaseDeclined, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    return Decision(fold.with_answered(message.cause))


@hear.register
def _recovered(message: NodeRecovered, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    return _turned(message, fold, ready_since=message.time)


@hear.register
def _relapsed(message: NodeRelapsed, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    return _turned(message, fold, ready_since=None)


def _turned(
    message: NodeRecovered | NodeRelapsed, fold: Isolations, *, ready_since: datetime | None
) -> Decision[Isolations]:
    one = fold.isolations.get(message.node) if message.node else None
    if one is None or message.id != answers.turn_id(type(message), one):
        return Decision(fold)
    next_turn = one.model_copy(update={"ready_since": ready_since, "turns": one.turns + 1})
    return Decision(fold.model_copy(update={"isolations": fold.isolations | {one.node: next_turn}}))


@hear.register
def _due(message: DeadlinePassed, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    node = NodeName(message.what.removeprefix(EXPIRY))
    one = fold.isolations.get(node)
    if one is None or one.way is not Way.HELD or one.until != message.due:
        return Decision(fold)
    back = one.model_copy(update={"way": Way.RETURNING, "reason": f"expired: {one.reason}"})
    because = f"{node} is isolated since {one.since.isoformat()}: expired, released once it is healthy"
    return Decision(fold.model_copy(update={"isolations": fold.isolations | {node: back}}), because=because)


@hear.register
def _accepted(message: JobAccepted, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    if message.job is None:
        return Decision(fold)
    job = Job(nodes=message.spec.nodes, policy=message.spec.policy.isolation)
    return Decision(fold.model_copy(update={"jobs": fold.jobs | {message.job.uid: job}}))


@hear.register(JobSucceeded)
@hear.register(JobFailed)
@hear.register(JobDeleted)
def _ended(message: JobSucceeded | JobFailed | JobDeleted, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    over = None if message.job is None else message.job.uid
    jobs = {uid: job for uid, job in fold.jobs.items() if uid != over}
    paused = {scope: by for scope, by in fold.paused.items() if scope != over}
    return Decision(fold.model_copy(update={"jobs": jobs, "paused": paused}))
