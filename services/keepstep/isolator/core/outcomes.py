"""What becomes of what was asked: nodes isolated and released, expiries, jobs that come and go."""

from datetime import datetime

from keepstep.contracts.events import (
    DeadlinePassed,
    DeviceIsolated,
    DeviceReleased,
    IsolationDeclined,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobSucceeded,
    NodeDrained,
    NodeIsolated,
    NodeRecovered,
    NodeRelapsed,
    NodeReleased,
    ReleaseDeclined,
)
from keepstep.contracts.policy import IsolationPolicy
from keepstep.core.decision import Decision
from keepstep.isolator.core import answers
from keepstep.isolator.core.hear import hear, origin_of
from keepstep.isolator.core.state import (
    EXPIRY,
    RECENT,
    Asker,
    Drain,
    Isolation,
    Isolations,
    Job,
    Release,
    Request,
    Way,
    place_of,
)


@hear.register(NodeIsolated)
@hear.register(DeviceIsolated)
def _isolated(message: NodeIsolated | DeviceIsolated, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    request = next((one for one in fold.requests if one.origin.id == message.cause), None)
    if request is None:
        return Decision(fold.with_answered(message.cause))
    isolation = _isolation(message, request)
    state = fold.with_answered(message.cause)
    update: dict[str, object] = {"isolations": state.isolations | {isolation.place: isolation}}
    if request.asker is Asker.RULE:
        update["recent"] = (*state.recent, message.time)[-RECENT:]
    state = state.model_copy(update=update)
    if request.revised:
        release = Release(origin=isolation.origin, node=request.node, device=isolation.device, because=request.revised)
        state = state.with_release(release)
    return Decision(state)


def _isolation(message: NodeIsolated | DeviceIsolated, request: Request) -> Isolation:
    device = message.device if isinstance(message, DeviceIsolated) else None
    return Isolation(
        origin=origin_of(message),
        node=request.node,
        device=device,
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
        drain=_drain(message, request.policy) if device is None else None,
    )


def _drain(message: NodeIsolated | DeviceIsolated, policy: IsolationPolicy) -> Drain | None:
    if policy.drain == "no":
        return None
    return Drain(until=message.time + policy.drain_deadline, force=policy.drain == "force")


@hear.register
def _drained(message: NodeDrained, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    one = fold.isolations.get(message.node) if message.node else None
    if one is None or one.origin.id != message.cause:
        return Decision(fold)
    empty = one.model_copy(update={"drain": None})
    return Decision(fold.model_copy(update={"isolations": fold.isolations | {one.place: empty}}))


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
    return _over(state, gone, because=message.because, now=now)


@hear.register
def _device_released(message: DeviceReleased, fold: Isolations, now: datetime) -> Decision[Isolations]:
    """The device's isolation is over; an order to release its node is answered by NodeReleased, after it."""
    asked = [one for one in fold.releases if one.origin.id == message.cause]
    whole = any(one.whole for one in asked)
    state = fold if whole else fold.with_answered(message.cause)
    gone = None if message.node is None else fold.isolations.get(place_of(message.node, message.device))
    if gone is None or not (asked or message.cause == gone.origin.id):
        return Decision(state)
    return _over(state, gone, because=message.because, now=now)


def _over(fold: Isolations, gone: Isolation, *, because: str, now: datetime) -> Decision[Isolations]:
    left = {place: one for place, one in fold.isolations.items() if place != gone.place}
    ends = answers.closed(gone.origin, category=gone.category, because=because, now=now, group=gone.group)
    return Decision(fold.model_copy(update={"isolations": left}).with_answered(gone.origin.id), ends)


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
    one = next((each for each in fold.isolations.values() if each.origin.id == message.cause), None)
    if one is None or message.id != answers.turn_id(type(message), one):
        return Decision(fold)
    next_turn = one.model_copy(update={"ready_since": ready_since, "turns": one.turns + 1})
    return Decision(fold.model_copy(update={"isolations": fold.isolations | {one.place: next_turn}}))


@hear.register
def _due(message: DeadlinePassed, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    place = message.what.removeprefix(EXPIRY)
    one = fold.isolations.get(place)
    if one is None or one.way is not Way.HELD or one.until != message.due:
        return Decision(fold)
    back = one.model_copy(update={"way": Way.RETURNING, "reason": f"expired: {one.reason}"})
    because = f"{place} is isolated since {one.since.isoformat()}: expired, released once it is healthy"
    return Decision(fold.model_copy(update={"isolations": fold.isolations | {place: back}}), because=because)


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
