"""Words to tell a pool's isolations in."""

from datetime import UTC, datetime, timedelta

from keepstep.contracts.events import (
    DetectorBlinded,
    DetectorSighted,
    FaultDiagnosed,
    JobAccepted,
    JobSucceeded,
    Verdict,
)
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, Pool, derive
from keepstep.contracts.orders import IsolateNode, PauseActions, ReleaseNode, ResumeActions
from keepstep.contracts.policy import IsolationPolicy, Policy
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import Command, Culprit, JobRef, JobSpec
from keepstep.ports.cluster import CordonMark, NodeStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)


POOL = Pool("p")


JOB = JobRef(name="j", uid=JobUid("job-1"))


def node(
    name: str, *, ready: bool = True, group: str | None = None, by: str | None = None, withholds: bool = False
) -> NodeStatus:
    mark = None if by is None else CordonMark(owner=by, reason="r", at=NOW - timedelta(days=1))
    return NodeStatus(name=NodeName(name), ready=ready, group=group, mark=mark, withholds=withholds)


def accepted(*, nodes: int = 4, **policy: object) -> JobAccepted:
    isolation = IsolationPolicy.model_validate(policy)
    spec = JobSpec(name="j", entrypoint=Command(argv=("x",)), nodes=nodes, policy=Policy(isolation=isolation))
    return JobAccepted(id=EventId("accepted"), time=NOW, pool=POOL, job=JOB, spec=spec)


def ended() -> JobSucceeded:
    return JobSucceeded(id=EventId("succeeded"), time=NOW, pool=POOL, job=JOB)


def verdict(
    blamed: str | None = "n1",
    *,
    name: str = "",
    category: Category = Category.DEVICE_HARDWARE,
    rule: str = "xid-79",
    isolate: bool = True,
    revision: int = 0,
    incident: str = "incident-1",
    job: JobRef | None = JOB,
    after: float = 0,
    said: str = "",
    bad: int | None = None,
    device: str | None = None,
) -> FaultDiagnosed:
    culprit = None if blamed is None else Culprit(node=NodeName(blamed), device=device)
    because = f"Xid 79 on {blamed}"
    judged = Verdict(
        category=category,
        culprit=culprit,
        isolate=isolate,
        confidence=1,
        because=because,
        rule=rule,
        signature=said,
        bad_checkpoint=bad,
    )
    return FaultDiagnosed(
        id=EventId(name or derive("verdict", blamed, revision, incident, str(after), said, device)),
        time=NOW + timedelta(seconds=after),
        pool=POOL,
        job=job,
        node=None if job else NodeName("n1"),
        incident=IncidentId(incident),
        verdict=judged,
        revision=revision,
        faults=(EventId("f"),),
        occurred=NOW,
        detected=NOW,
    )


def isolate(blamed: str, *, by: str = "alice") -> IsolateNode:
    return IsolateNode(
        id=EventId(f"isolate-{blamed}-{by}"), time=NOW, pool=POOL, node=NodeName(blamed), by=by, reason="smells"
    )


def release(blamed: str, *, by: str = "alice") -> ReleaseNode:
    return ReleaseNode(id=EventId(f"release-{blamed}-{by}"), time=NOW, pool=POOL, node=NodeName(blamed), by=by)


def pause(*, job: JobRef | None = None) -> PauseActions:
    return PauseActions(id=EventId("pause"), time=NOW, pool=POOL, job=job, by="bob")


def resume() -> ResumeActions:
    return ResumeActions(id=EventId("resume"), time=NOW, pool=POOL, by="bob")


def blinded() -> DetectorBlinded:
    return DetectorBlinded(
        id=EventId("blinded"), time=NOW, pool=POOL, silent=6, total=10, because="6 of 10 agents are silent"
    )


def sighted() -> DetectorSighted:
    return DetectorSighted(id=EventId("sighted"), time=NOW, pool=POOL, total=10)
