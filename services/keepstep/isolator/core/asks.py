"""Who asks for a node to be isolated or released: verdicts and people, each answered once."""

from datetime import datetime

from keepstep.contracts.events import DetectorBlinded, DetectorSighted, FaultDiagnosed
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Order
from keepstep.contracts.orders import DrainNode, IsolateNode, PauseActions, ReleaseNode, ResumeActions
from keepstep.contracts.policy import IsolationPolicy
from keepstep.core.decision import Decision
from keepstep.isolator.core import answers
from keepstep.isolator.core.groups import grouped
from keepstep.isolator.core.hear import hear, origin_of
from keepstep.isolator.core.refusals import RETURNS, Case, refusal
from keepstep.isolator.core.state import Asker, Blindness, Isolation, Isolations, Release, Request, Way


@hear.register
def _diagnosed(message: FaultDiagnosed, fold: Isolations, now: datetime) -> Decision[Isolations]:
    if fold.knows(message.id):
        return Decision(fold)
    fold, shared = grouped(fold, message)
    job = None if message.job is None else fold.jobs.get(message.job.uid)
    case = Case(fold=fold, message=message, policy=job.policy if job else IsolationPolicy(), now=now)
    revised = _revised(fold, case)
    refused = refusal(case)
    if refused is None and case.node is not None:
        request = _request(case, case.node).model_copy(update={"shared": shared})
        return Decision(
            revised.with_request(request), because=f"the fleet is asked for {request.node}: {request.reason}"
        )
    because, how = (refused.because, refused.how) if refused else ("no node named", {})
    said = answers.declined(origin_of(message), because=because, now=now, node=case.node, shared=shared, **how)
    ends = answers.closed(said, category=message.verdict.category, because=because, now=now, group=said.group)
    return Decision(revised.with_answered(message.id), (said, *ends), because)


def _request(case: Case, node: NodeName) -> Request:
    verdict = case.message.verdict
    return Request(
        origin=origin_of(case.message),
        node=node,
        device=case.device,
        asker=Asker.RULE,
        by=f"rule {verdict.rule}",
        reason=f"{verdict.category}: {verdict.because}",
        category=verdict.category,
        way=Way.RETURNING if verdict.rule in RETURNS else Way.HELD,
        attempt=case.message.attempt,
        policy=case.policy,
    )


def _revised(fold: Isolations, case: Case) -> Isolations:
    """Return the fold with isolations that an earlier revision of this verdict asked for on their way back."""
    message = case.message
    if message.revision == 0 or message.incident is None:
        return fold
    blamed = case.node if message.verdict.isolate else None
    because = f"the verdict was revised: {message.verdict.because}"

    def wrong(one: Request | Isolation) -> bool:
        same = one.origin.incident == message.incident and one.attempt == message.attempt
        other = one.node != blamed or one.device not in (None, case.device)
        return same and one.asker is Asker.RULE and other

    requests = tuple(one.model_copy(update={"revised": because}) if wrong(one) else one for one in fold.requests)
    state = fold.model_copy(update={"requests": requests})
    for one in fold.isolations.values():
        if wrong(one) and one.origin.id not in fold.waiting:
            state = state.with_release(Release(origin=one.origin, node=one.node, device=one.device, because=because))
    return state


@hear.register
def _isolate(message: IsolateNode, fold: Isolations, now: datetime) -> Decision[Isolations]:
    return _asked(message, message.reason, fold, now, policy=IsolationPolicy())


@hear.register
def _drain(message: DrainNode, fold: Isolations, now: datetime) -> Decision[Isolations]:
    return _asked(message, f"drain: {message.reason}", fold, now, policy=IsolationPolicy(drain="evict"))


def _asked(
    message: Order, reason: str, fold: Isolations, now: datetime, *, policy: IsolationPolicy
) -> Decision[Isolations]:
    if fold.knows(message.id):
        return Decision(fold)
    if message.node is None:
        said = answers.declined(origin_of(message), because="the order names no node", now=now, node=None)
        return Decision(fold.with_answered(message.id), (said,), said.because)
    request = Request(
        origin=origin_of(message), node=message.node, asker=Asker.PERSON, by=message.by, reason=reason, policy=policy
    )
    return Decision(fold.with_request(request), because=f"{message.by} asks for {message.node}: {reason}")


@hear.register
def _release(message: ReleaseNode, fold: Isolations, now: datetime) -> Decision[Isolations]:
    if fold.knows(message.id):
        return Decision(fold)
    if message.node is None:
        said = answers.release_declined(origin_of(message), because="the order names no node", now=now)
        return Decision(fold.with_answered(message.id), (said,), said.because)
    because = f"asked for by {message.by}" + (f": {message.reason}" if message.reason else "")
    isolated = any(one.node == message.node for one in fold.isolations.values())
    release = Release(origin=origin_of(message), node=message.node, because=because, isolated=isolated, whole=True)
    return Decision(fold.with_release(release), because=because)


@hear.register
def _pause(message: PauseActions, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    if message.job is not None and message.job.uid not in fold.jobs:
        return Decision(fold, because=f"job {message.job.name} is over: there is nothing to pause")
    scope = "" if message.job is None else message.job.uid
    return Decision(fold.model_copy(update={"paused": fold.paused | {scope: message.by}}))


@hear.register
def _resume(message: ResumeActions, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    scope = "" if message.job is None else message.job.uid
    left = {key: by for key, by in fold.paused.items() if key != scope}
    return Decision(fold.model_copy(update={"paused": left}))


@hear.register
def _blinded(message: DetectorBlinded, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    return Decision(fold.model_copy(update={"blind": Blindness(since=message.time, because=message.because)}))


@hear.register
def _sighted(_message: DetectorSighted, fold: Isolations, _now: datetime) -> Decision[Isolations]:
    return Decision(fold.model_copy(update={"blind": None}))
