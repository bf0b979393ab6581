"""Who is told what, by which way, and when: the rules that people write.

A rule that names nothing matches everything. What belongs to no job, or to one whose policy has no rules of its own,
goes by the pool's rules, which match the same way.
"""

import re
from datetime import timedelta
from typing import Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from keepstep.contracts.channel_parts import CHANNEL_NAME, QuietHours
from keepstep.contracts.duration import Duration, seconds
from keepstep.contracts.model import Strict
from keepstep.contracts.taxonomy import AlertKind, Category, Severity, Stage


def is_address(sink: str) -> bool:
    """Tell whether a rule's sink names no channel: it is the log, or an address, also one that is written wrong.

    What cannot be a channel's name may be an address without its scheme, and its secret must not get on the bus.
    """
    return sink == "log" or re.fullmatch(CHANNEL_NAME, sink) is None


class Escalation(Strict):
    """Whom to tell beside when nobody has acknowledged an incident in time."""

    after: Duration = Field(gt=timedelta(0))
    """Since the rule's first message of the incident."""
    sink: str = ""
    """Where; empty is the rule's own."""
    mention: tuple[str, ...] = ()
    """People and groups to be called."""


class Route(Strict):
    """One rule: which messages go to which sink, whom they call, and when they wait."""

    model_config = ConfigDict(hide_input_in_errors=True)
    """An error would repeat the address, and that is a secret."""

    sink: str
    """``log``, an http(s) URL, or the name of a channel of the notifier's channels file."""
    minimum: Severity = Severity.INFO
    jobs: str = "*"
    """Shell pattern on the job's name."""
    pools: str = "*"
    """Shell pattern on the pool's name."""
    namespaces: str = "*"
    """Shell pattern on the namespace of the job's object; a local job's is empty."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the job, each a shell pattern on its value; one that the job lacks does not match."""
    categories: tuple[Category, ...] = ()
    """Causes; an incident is told from its verdict on, since nobody knows its cause before. Empty: any, and none."""
    kinds: tuple[AlertKind, ...] = ()
    stages: tuple[Stage, ...] = ()
    """As ``diagnosed``, for ways that take one message of an incident."""
    mention: tuple[str, ...] = ()
    """People and groups of the channels file that each message calls; ``all`` is everyone in the chat."""
    quiet: tuple[QuietHours, ...] = ()
    """When messages of this rule wait, beside the channel's own hours."""
    gather: Duration = Field(default=seconds(0), le=timedelta(hours=1))
    """How long a message waits for others to go out with as one; critical ones do not wait."""
    escalate: tuple[Escalation, ...] = ()
    """Of incidents; a person stops it by ``keepstep incident ack``."""

    @field_validator("escalate")
    @classmethod
    def _rising(cls, value: tuple[Escalation, ...]) -> tuple[Escalation, ...]:
        times = [each.after for each in value]
        if times != sorted(set(times)):
            raise ValueError("steps of an escalation must each come later than the one before: put them in order")
        return value

    @model_validator(mode="after")
    def _own_words(self) -> Self:
        if is_address(self.sink) and (self.quiet or self.gather):
            raise ValueError("quiet and gather need a channel: the log and addresses are told at once")
        return self


class NotificationPolicy(Strict):
    """Who is told what."""

    routes: tuple[Route, ...] = (Route(sink="log"),)
