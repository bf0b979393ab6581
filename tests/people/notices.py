"""Notices as the tests of channels send them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from keepstep.adapters.channel_directory import ChannelDirectory
from keepstep.adapters.channel_file import Held
from keepstep.adapters.sink_log import LogSink
from keepstep.contracts.channels import Channels
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.notice import Link, Member
from keepstep.contracts.taxonomy import AlertKind, Severity, Stage
from keepstep.ports.sink import Notice, Sink

NOW = datetime(2026, 11, 30, 6, 0, 0, tzinfo=UTC)
INCIDENT = IncidentId(sha256(b"incident").hexdigest()[:32])
HERE = ("127.0.0.0/8",)
"""Fakes listen on loopback, which no channel may call unless the site allows it."""
LINKS = (
    Link(label="incident", url=f"https://console.example/incidents/{INCIDENT}"),
    Link(label="job", url="https://console.example/jobs/llm-70b"),
)


class StillClock:
    """A clock that stands, unless it is moved."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()


def notice(**fields: object) -> Notice:
    made = Notice(
        id=sha256(b"notice").hexdigest()[:32],
        thread=INCIDENT,
        sequence=2,
        severity=Severity.WARNING,
        title="Cause in job llm-70b: oom_device",
        text="rank 3 of node-17 ran out of device memory: 79.2 of 80 GiB in use",
        facts=(("node", "node-17"), ("rank", "3"), ("category", "oom_device")),
        kind=AlertKind.TOLERANCE,
        event="FaultDiagnosed",
        stage=Stage.DIAGNOSED,
        incident=INCIDENT,
        job="llm-70b",
        at=NOW - timedelta(seconds=2),
        links=LINKS,
    )
    return replace(made, **fields)  # type: ignore[arg-type]  # what a test says of a notice is the test's matter


def digest(count: int) -> Notice:
    members = tuple(
        Member(
            id=sha256(f"notice {number}".encode()).hexdigest()[:32],
            title=f"Fault in job llm-{number}",
            incident=IncidentId(sha256(f"incident {number}".encode()).hexdigest()[:32]),
            severity=Severity.WARNING,
        )
        for number in range(count)
    )
    title = f"{count} messages"
    return notice(title=title, text="", facts=(), members=members, stage=Stage.NOTE, links=(), incident=None, job="")


def ids(one: Notice) -> Sequence[str]:
    return [str(member.incident) for member in one.members]


def sink_of(channel: dict[str, object], *, allow: Sequence[str] = HERE, clock: StillClock | None = None) -> Sink:
    """Return the sink that the directory makes of one channel named ``ops``."""
    channels = Channels.model_validate({"channels": [{"name": "ops"} | channel], "allow": allow})
    found = ChannelDirectory(Held(channels), LogSink(), clock or StillClock(), limit=timedelta(seconds=5))
    return found("ops")
