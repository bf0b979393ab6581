"""Words to tell a pool's isolations in, a fleet that behaves, and a pool that runs to rest without a bus."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from keepstep.contracts.events import (
    DeadlinePassed,
    DetectorBlinded,
    DetectorSighted,
    FaultDiagnosed,
    IsolationDeclined,
    JobAccepted,
    JobSucceeded,
    NodeIsolated,
    NodeReleased,
    ReleaseDeclined,
    Verdict,
)
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, Pool, derive
from keepstep.contracts.message import POOL_KEY, Message
from keepstep.contracts.orders import IsolateNode, PauseActions, ReleaseNode, ResumeActions
from keepstep.contracts.policy import IsolationPolicy, Policy
from keepstep.contracts.taxonomy import Category, Service
from keepstep.contracts.topology import Command, Culprit, JobRef, JobSpec
from keepstep.isolator.app import isolator_stage
from keepstep.isolator.core import Empty, Isolations, Tend
from keepstep.isolator.hand import Hand
from keepstep.ports.cluster import Census, CordonMark, NodeStatus, Stay, Withheld
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.roll import Roll

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_PAUSE = timedelta(0)
POOL = Pool("p")
JOB = JobRef(name="j", uid=JobUid("job-1"))
Answer = NodeIsolated | IsolationDeclined


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


class Fleet:
    """A cluster's nodes in memory: foreign marks stay, ours come and go."""

    def __init__(self, *nodes: NodeStatus) -> None:
        self.by_name = {one.name: one for one in nodes}
        self.cordons: list[str] = []
        self.looks = 1000
        """After so many looks the cluster cannot be reached, which ends those who watch."""

    async def nodes(self) -> tuple[NodeStatus, ...]:
        await asyncio.sleep(0)
        self.looks -= 1
        if self.looks < 0:
            raise Transient("the cluster cannot be reached")
        return tuple(self.by_name.values())

    async def census(self) -> Census:
        return Roll(await self.nodes()).census

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        await asyncio.sleep(0)
        there = self.by_name[node]
        if there.mark is not None and there.mark.owner != mark.owner:
            raise Permanent(f"node {node} is cordoned by {there.mark.owner}")
        if there.mark is None:
            self.cordons.append(node)
            self.put(node, mark=mark)

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        there = self.by_name[node]
        if there.mark is not None and there.mark.owner != owner:
            raise Permanent(f"node {node} is cordoned by {there.mark.owner}")
        self.put(node, mark=None)

    def put(self, name: str, *, mark: CordonMark | None) -> None:
        """Set or clear a mark, as a hand on the cluster would."""
        there = self.by_name[NodeName(name)]
        self.by_name[there.name] = replace(there, mark=mark)

    async def withhold(self, node: NodeName, device: str, mark: CordonMark) -> None:
        there = self.by_name[node]
        if not there.withholds:
            raise Permanent(f"nothing on {node} heeds a device that is withheld")
        kept = tuple(one for one in there.withheld if one.device != device)
        self.by_name[node] = replace(there, withheld=(*kept, Withheld(device, mark)))

    async def give_back(self, node: NodeName, device: str) -> None:
        there = self.by_name[node]
        kept = tuple(one for one in there.withheld if one.device != device)
        self.by_name[node] = replace(there, withheld=kept)

    def turn(self, name: str, *, ready: bool) -> None:
        """Make the node ready or not."""
        there = self.by_name[NodeName(name)]
        self.by_name[there.name] = replace(there, ready=ready)


F = TypeVar("F", bound=Fleet)


class Others:
    """Pods of others on a node: each stays for so many askings, the last for ever where ``stubborn``."""

    def __init__(self, *, askings: int = 0, stubborn: bool = False) -> None:
        self.askings, self.stubborn = askings, stubborn
        self.asked = 0
        self.driven_out: list[str] = []

    async def evict(self, node: NodeName, *, why: str) -> tuple[Stay, ...]:
        assert node
        assert why
        await asyncio.sleep(0)
        self.asked += 1
        stays = self.stubborn or self.asked <= self.askings
        return (Stay("default/web-0", "budget web is spent"),) if stays else ()

    async def drive_out(self, node: NodeName, *, why: str) -> None:
        self.driven_out.append(f"{node}: {why}")


class Clock:
    """A clock that goes on by ``tick`` at every look."""

    def __init__(self, tick: float = 0) -> None:
        self.at = NOW
        self.tick = timedelta(seconds=tick)

    def now(self) -> datetime:
        self.at += self.tick
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOW).total_seconds()


class PoolOfNodes:
    """The isolator's stage on a fleet in memory: hears, acts, and hears what it said."""

    def __init__(self, *nodes: NodeStatus, tick: float = 0, others: "Others | None" = None) -> None:
        self.clock = Clock(tick)
        self.others = others
        self.put(Fleet(*nodes))
        self.fold = Isolations()
        self.said: list[Message] = []

    def put(self, fleet: F) -> F:
        """Act on this fleet from now on."""
        self.fleet: Fleet = fleet
        hand = Hand(fleet, self.clock, tend_every=timedelta(0), devices=fleet, evictions=self.others)
        self.stage = isolator_stage(hand)
        return fleet

    def tell(self, *messages: Message) -> "PoolOfNodes":
        """Hear these in order, and at once what follows from them."""
        for message in messages:
            assert isinstance(message, self.stage.hears)
            assert self.stage.fold_key(message) == POOL_KEY
            decision = self.stage.decide(self.fold, message, message.time)
            self.fold = Isolations.model_validate_json(decision.state.model_dump_json())
            self.say(*decision.says)
        return self

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.said.append(message)
            if isinstance(message, self.stage.hears):
                self.tell(message)

    async def act(self) -> "PoolOfNodes":
        """Answer all requests and releases, all at once, until none is left."""
        while effects := [one for one in self.stage.effects(self.fold) if not isinstance(one, Tend | Empty)]:
            for said in await asyncio.gather(*(self.stage.act(one) for one in effects)):
                self.say(*said)
        return self

    async def empty(self) -> "PoolOfNodes":
        """Move away what else runs on isolated nodes, until that is done or given up."""
        for effect in [one for one in self.stage.effects(self.fold) if isinstance(one, Empty)]:
            self.say(*await self.stage.act(effect))
        return self

    async def watch(self, *, looks: int = 100) -> "PoolOfNodes":
        """Tend all isolated nodes until their isolation is over or the cluster cannot be reached any more."""
        self.fleet.looks = looks
        while watched := [self.stage.act(one) for one in self.stage.effects(self.fold) if isinstance(one, Tend)]:
            answered = await asyncio.gather(*watched, return_exceptions=True)
            for said in answered:
                if isinstance(said, BaseException):
                    assert isinstance(said, Transient)
                else:
                    self.say(*said)
            if all(isinstance(said, BaseException) for said in answered):
                break
        self.fleet.looks = 1000
        return self

    def passed(self) -> DeadlinePassed:
        """Return the passing of the one deadline that the fold waits for."""
        (deadline,) = self.stage.deadlines(self.fold)
        return DeadlinePassed(
            id=EventId(f"passed-{deadline.what}"),
            time=deadline.due,
            pool=POOL,
            service=Service.ISOLATOR,
            scope=POOL_KEY,
            what=deadline.what,
            due=deadline.due,
        )

    @property
    def answers(self) -> list[Answer]:
        return [one for one in self.said if isinstance(one, NodeIsolated | IsolationDeclined)]

    @property
    def last(self) -> tuple[str, str]:
        """The kind of the last thing said, and its reason."""
        said = self.said[-1]
        assert isinstance(said, NodeIsolated | IsolationDeclined | NodeReleased | ReleaseDeclined)
        return type(said).__name__, said.because
