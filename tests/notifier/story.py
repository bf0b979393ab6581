"""Words to tell a notifier's day in: messages, sinks that fail on purpose, and a desk that works without a bus."""

from datetime import UTC, datetime, timedelta
from typing import Any

from keepstep.contracts.channel_kinds import LogChannel
from keepstep.contracts.channels import Channels
from keepstep.contracts.events import (
    DeadlinePassed,
    FaultDiagnosed,
    IncidentClosed,
    IncidentOpened,
    IsolationDeclined,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobStopRequested,
    JobSucceeded,
    NotificationDelivered,
    NotificationDropped,
    Verdict,
)
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy, Route, is_address
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Category, ChannelKind, Outcome, Service, Severity
from keepstep.contracts.topology import Command, Culprit, JobRef, JobSpec
from keepstep.core.forgetting import FORGET
from keepstep.core.masking import masked
from keepstep.notifier.app import notifier_stage
from keepstep.notifier.core import OBJECTS, Notices
from keepstep.notifier.sinks import Ways
from keepstep.ports.errors import Permanent
from keepstep.ports.sink import Notice, Receipt, Sink
from keepstep.runtime.advance import fold_key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOL = Pool("p")
JOB = JobRef(name="train-1", uid=JobUid("job-1"))
INCIDENT = IncidentId("incident-1")
HOOK = "https://user:pass@hooks.example.com:8443/robot/send?access_token=s3cret"


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def route(sink: str, minimum: Severity = Severity.INFO, jobs: str = "*", **more: Any) -> Route:
    return Route(sink=sink, minimum=minimum, jobs=jobs, **more)


def accepted(*routes: Route) -> JobAccepted:
    policy = Policy(notification=NotificationPolicy(routes=routes))
    spec = JobSpec(name="train-1", entrypoint=Command(argv=("x",)), policy=policy)
    return JobAccepted(id=EventId("accepted"), time=NOW, pool=POOL, job=JOB, spec=spec)


def opened(incident: str = INCIDENT) -> IncidentOpened:
    name, fault = EventId(f"opened-{incident}"), EventId("fault")
    return IncidentOpened(
        id=name, time=NOW, pool=POOL, job=JOB, incident=IncidentId(incident), fault=fault, because="rank 3 was killed"
    )


def diagnosed(*, isolate: bool = False) -> FaultDiagnosed:
    verdict = Verdict(
        category=Category.DEVICE_HARDWARE,
        culprit=Culprit(node=NodeName("n1"), rank=3),
        isolate=isolate,
        confidence=1,
        because="Xid 79",
        rule="xid-79",
    )
    return FaultDiagnosed(
        id=EventId("verdict"),
        time=NOW,
        pool=POOL,
        job=JOB,
        incident=INCIDENT,
        verdict=verdict,
        faults=(EventId("fault"),),
        occurred=NOW,
        detected=NOW,
    )


def declined() -> IsolationDeclined:
    name, cause = EventId("declined"), EventId("verdict")
    return IsolationDeclined(
        id=name, time=NOW, pool=POOL, job=JOB, incident=INCIDENT, cause=cause, because="guard: 1 of 4 out"
    )


def closed(outcome: Outcome = Outcome.RESUMED) -> IncidentClosed:
    return IncidentClosed(
        id=EventId("closed"),
        time=NOW,
        pool=POOL,
        job=JOB,
        incident=INCIDENT,
        outcome=outcome,
        category=Category.UNKNOWN,
        because="all tasks step",
    )


def failed() -> JobFailed:
    return JobFailed(
        id=EventId("failed"), time=NOW, pool=POOL, job=JOB, category=Category.USER_CODE, because="KeyError twice"
    )


ENDS: tuple[Message, ...] = (
    failed(),
    JobSucceeded(id=EventId("succeeded"), time=NOW, pool=POOL, job=JOB),
    JobStopRequested(id=EventId("stopped"), time=NOW, pool=POOL, job=JOB, by="bob"),
    JobDeleted(id=EventId("deleted"), time=NOW, pool=POOL, job=JOB),
)


WRITTEN = 50
"""Messages after which a fold is written and read each time, and each how many later: a storm has thousands."""


class Recorder:
    """A sink that keeps what it gets and when, or raises what it is told to, in order."""

    def __init__(self, clock: "Clock") -> None:
        self.clock = clock
        self.got: list[Notice] = []
        self.called: list[float] = []
        """Seconds since the day began."""
        self.raises: list[Exception] = []

    async def deliver(self, notice: Notice) -> Receipt | None:
        self.called.append(self.clock.monotonic())
        if self.raises:
            raise self.raises.pop(0)
        self.got.append(notice)
        return Receipt("0")


def plain(name: str) -> LogChannel:
    """Return a channel that takes everything at once."""
    return LogChannel(name=name, kind=ChannelKind.LOG)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOW).total_seconds()


class Desk:
    """The notifier's stage with recording sinks: hears, acts, and hears what it said."""

    def __init__(
        self,
        *names: str,
        objects: Sink | None = None,
        channels: Channels | None = None,
        pool: tuple[Route, ...] = (Route(sink="log"),),
    ) -> None:
        """``names`` are addresses and channels without limits; ``channels`` the file, ``pool`` the pool's rules."""
        self.objects = objects
        self.clock = Clock()
        self.sinks = {name: Recorder(self.clock) for name in names or ("log",)}
        self.channels = channels or Channels(channels=tuple(plain(name) for name in names if not is_address(name)))
        self.sinks |= {one.name: Recorder(self.clock) for one in self.channels.channels}
        self.letters: list[tuple[Message, str]] = []
        self.heard = 0
        ways = Ways(channels=lambda: self.channels, find=self._find, bury=self._bury)
        rules = NotificationPolicy(routes=pool)
        self.stage = notifier_stage(self._find, self.clock, pool=rules, objects=objects is not None, ways=ways)
        self.folds: dict[str, Notices] = {}
        self.said: list[Message] = []

    def _find(self, address: str) -> Sink:
        if address == OBJECTS and self.objects is not None:
            return self.objects
        if address not in self.sinks:
            raise Permanent(f"no sink {masked(address)}", code="unknown_channel")
        return self.sinks[address]

    async def _bury(self, message: Message, because: str) -> None:
        self.letters.append((message, because))

    def tell(self, *messages: Message) -> "Desk":
        """Hear these in order, and at once what follows from them."""
        for message in messages:
            key = fold_key(self.stage, message)
            if key is None or not isinstance(message, self.stage.hears):
                continue
            decision = self.stage.decide(self.folds.get(key), message, message.time)
            self.heard += 1
            stored = self.heard < WRITTEN or not self.heard % WRITTEN
            self.folds[key] = (
                Notices.model_validate_json(decision.state.model_dump_json()) if stored else decision.state
            )
            for said in decision.says:
                self.say(said)
        return self

    def say(self, message: Message) -> None:
        self.said.append(message)
        self.tell(message)

    async def deliver(self) -> "Desk":
        """Do the wanted effects until none is wanted now."""
        while effects := [effect for fold in self.folds.values() for effect in self.stage.effects(fold)]:
            for effect in effects:
                for said in await self.stage.act(effect):
                    self.say(said)
        return self

    async def later(self) -> "Desk":
        """Let the next deadlines pass, and deliver."""
        for key, fold in list(self.folds.items()):
            for deadline in self.stage.deadlines(fold):
                if deadline.what == FORGET:
                    continue
                self.clock.at = max(self.clock.at, deadline.due)
                self.tell(_passed(key, deadline.what, deadline.due))
        return await self.deliver()

    async def wait(self, seconds: float) -> "Desk":
        """Let this time pass: each deadline at its moment, and deliver after each."""
        until = self.clock.at + timedelta(seconds=seconds)
        await self.deliver()
        while due := self._next(until):
            moment, key, what = due
            self.clock.at = max(self.clock.at, moment)
            self.tell(_passed(key, what, moment))
            await self.deliver()
        self.clock.at = until
        return self

    def _next(self, until: datetime) -> tuple[datetime, str, str] | None:
        found = (
            (deadline.due, key, deadline.what)
            for key, fold in self.folds.items()
            for deadline in self.stage.deadlines(fold)
            if deadline.what != FORGET and deadline.due <= until
        )
        return min(found, default=None)

    def quiet(self, key: str = JOB.uid) -> bool:
        """Let the deadline pass at which this key is forgotten, if it waits for one; tell whether its fold may go."""
        for deadline in self.stage.deadlines(self.folds[key]):
            if deadline.what == FORGET:
                self.tell(_passed(key, deadline.what, deadline.due))
        return self.stage.over(self.folds[key])

    @property
    def waits(self) -> list[timedelta]:
        """How long each message that did not get through waits from now."""
        due = [one for fold in self.folds.values() for one in self.stage.deadlines(fold)]
        return [one.due - self.clock.at for one in due if one.what != FORGET]

    @property
    def endings(self) -> list[NotificationDelivered | NotificationDropped]:
        """How each message ended; the word on a digest as a whole is beside."""
        ended = (one for one in self.said if isinstance(one, NotificationDelivered | NotificationDropped))
        return [one for one in ended if isinstance(one, NotificationDropped) or not one.members]

    def titles(self, sink: str = "log") -> list[str]:
        return [notice.title for notice in self.sinks[sink].got]


def _passed(key: str, what: str, due: datetime) -> DeadlinePassed:
    name = EventId(f"passed-{what}-{due}")
    return DeadlinePassed(
        id=name, time=due, pool=POOL, job=JOB, service=Service.NOTIFIER, scope=key, what=what, due=due
    )
