"""What channels of every kind share: names, limits, quiet hours, secrets in the file or beside it."""

import re
from collections.abc import Iterator
from datetime import datetime, time
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, ClassVar, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, field_validator, model_validator

from keepstep.contracts.duration import Duration, seconds
from keepstep.contracts.model import Strict
from keepstep.contracts.taxonomy import Language, Severity

CHANNEL_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
"""A channel's name is a key of folds and a token of subjects: the DNS label of RFC 1123, as a job's name is."""
MOBILE = r"^\+?[0-9]{5,15}$"
"""E.164 has at most 15 digits; services of a country are shorter."""
MAILBOX = r"^[^@\s,<>]+@[^@\s,<>]+$"
Mobile = Annotated[str, Field(pattern=MOBILE)]
"""A telephone number; with ``+`` and country code where a gateway serves several countries."""
Mailbox = Annotated[str, Field(pattern=MAILBOX)]
"""An address of mail, without a name before it."""
RESERVED = frozenset({"kubernetes"})
"""Names of sinks that are no channels; ``log`` is both."""
HOST = re.compile(r"^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*\.?$")
RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        raise ValueError(f"{value!r} is no time zone: write an IANA name, as Asia/Shanghai") from None
    return value


Zone = Annotated[str, AfterValidator(_zone)]


class Limit(Strict):
    """How much a vendor takes before it refuses; above it messages are gathered into digests."""

    per_minute: int = Field(ge=1, le=6000)
    """Requests a minute."""
    per_second: int | None = Field(default=None, ge=1, le=100)
    """Requests a second; None is as many as there are."""


class QuietHours(Strict):
    """When a channel is left in peace; what comes meanwhile goes out as one digest at their end."""

    start: time
    """Wall time of ``zone``, as ``22:00``; included."""
    end: time
    """Excluded; before ``start`` it is the next morning's, equal to it the hours last all day."""
    zone: Zone = "UTC"
    """IANA name, as ``Asia/Shanghai``: hours follow its daylight saving."""
    days: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    """ISO weekdays on which the hours begin, Monday is 1."""
    through: Severity | None = Severity.CRITICAL
    """From this severity on a message goes out all the same; None: nothing does."""

    @field_validator("start", "end", mode="before")
    @classmethod
    def _written(cls, value: object) -> object:
        if isinstance(value, int | float):
            raise ValueError('is a number to YAML: write the time in quotes, as "22:00"')
        return value

    @field_validator("start", "end")
    @classmethod
    def _plain(cls, value: time) -> time:
        if value.tzinfo is not None:
            raise ValueError("has an offset: write the wall time, as 22:00, and name the place in zone")
        return value

    @field_validator("days")
    @classmethod
    def _weekdays(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or not set(value) <= set(range(1, 8)):
            raise ValueError("are ISO weekdays: write numbers of 1 (Monday) to 7 (Sunday), at least one")
        return value

    def covers(self, now: datetime) -> bool:
        """Tell whether ``now`` (aware) lies in the hours."""
        local = now.astimezone(ZoneInfo(self.zone))
        at, today = local.time(), local.isoweekday()
        if self.start < self.end:
            return today in self.days and self.start <= at < self.end
        yesterday = (today - 2) % 7 + 1
        return (today in self.days and at >= self.start) or (yesterday in self.days and at < self.end)

    def keeps(self, severity: Severity, now: datetime) -> bool:
        """Tell whether a message of this severity waits for their end."""
        return self.covers(now) and (self.through is None or RANK[severity] < RANK[self.through])


class Spoken(Strict):
    """The common part of every channel."""

    model_config = ConfigDict(hide_input_in_errors=True)
    """An error would repeat what it was given, and that may be a secret."""
    MOST: ClassVar[Limit | None] = None
    """What the vendor takes at most; None where it does not say."""

    name: str = Field(pattern=CHANNEL_NAME)
    """As routes name it."""
    language: Language = Language.EN
    zone: Zone = "UTC"
    """Time zone of the times that messages show."""
    limit: Limit = Limit(per_minute=60)
    """One a second harms no server; vendors with limits of their own have theirs as default."""
    quiet: tuple[QuietHours, ...] = ()
    minimum: Severity = Severity.INFO
    """The channel takes nothing milder, whatever a route says."""
    once: bool = False
    """Of each thread only the first message that the channel takes goes out: for ways that cost or wake people."""
    gather: Duration = Field(default=seconds(0), le=seconds(3600))
    """How long a message waits for others to go out with, as one digest; critical ones do not wait. Zero: none does."""

    @field_validator("name")
    @classmethod
    def _free(cls, value: str) -> str:
        if value in RESERVED:
            raise ValueError(f"{value} is a sink of another kind: name the channel anew")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Say all that is wrong at once; a validator for each rule would stop at the first."""
        if wrong := tuple(self.wrong()):
            raise ValueError("; ".join(wrong))
        return self

    def wrong(self) -> Iterator[str]:
        """Yield what fields that are well by themselves say wrongly together, each with its remedy."""
        most = self.MOST
        if most is None:
            return
        if self.limit.per_minute > most.per_minute:
            yield f"limit.per_minute: the vendor takes {most.per_minute}: write at most that"
        if most.per_second is not None and (self.limit.per_second or most.per_second + 1) > most.per_second:
            yield f"limit.per_second: the vendor takes {most.per_second}: write at most that"

    def takes(self, severity: Severity) -> bool:
        """Tell whether a message of this severity is for this channel at all."""
        return RANK[severity] >= RANK[self.minimum]


class Addressed(Spoken):
    """A channel that calls an address over http(s), which is a secret as a whole: most vendors put a token in it."""

    url: SecretStr | None = None
    """Whole address with token or key; this or ``url_file``."""
    url_file: Path | None = None
    """File that holds the address, read at every use: a renewed Secret needs no restart."""

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with the address too."""
        yield from super().wrong()
        yield from one_of(self.url, self.url_file, "url")


class Signed(Addressed):
    """A robot whose requests may be signed, and that may want a word in every message."""

    secret: SecretStr | None = None
    """Key of the signature; neither this nor ``secret_file``: requests are not signed."""
    secret_file: Path | None = None
    keyword: str = Field(default="", max_length=50)
    """A word that the robot wants in every message; it is put in front where it is missing."""

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with the secret too."""
        yield from super().wrong()
        yield from at_most_one_of(self.secret, self.secret_file, "secret")


def one_of(value: SecretStr | None, file: Path | None, name: str) -> Iterator[str]:
    """Yield why a secret is refused that is neither here nor in a file of its own, or both."""
    if value is None and file is None:
        yield f"{name}: is missing: write either {name} or {name}_file"
    yield from at_most_one_of(value, file, name)


def at_most_one_of(value: SecretStr | None, file: Path | None, name: str) -> Iterator[str]:
    """Yield why a secret is refused that is both here and in a file of its own."""
    if value is not None and file is not None:
        yield f"{name}: is given twice: write either {name} or {name}_file"


def network_of(entry: str) -> IPv4Network | IPv6Network | str:
    """Return an entry of the allow-list: a network, or a host name in lower case. Raises ValueError for neither."""
    try:
        return ip_network(entry)
    except ValueError:
        name = entry.lower().removesuffix(".")
    if not HOST.match(name) or name.replace(".", "").isdigit() or "/" in name:
        raise ValueError(f"{entry!r} is no network, address or host name: write 10.1.0.0/16, 10.1.2.3 or hooks.example")
    return name
