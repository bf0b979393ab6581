"""The channels file: by which ways people are reached, who they are, and what each way allows.

One YAML or JSON file of the operator. Secrets stand in files of their own (``url_file``, ``secret_file``,
``password_file``) or here; neither is ever printed. An unknown field is refused, as is what a vendor would refuse.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator

from keepstep.contracts.channel_kinds import (
    AppriseChannel,
    DingTalk,
    Feishu,
    LogChannel,
    Mail,
    Phone,
    Slack,
    Sms,
    Webhook,
    WeCom,
)
from keepstep.contracts.channel_parts import MAILBOX, MOBILE, network_of
from keepstep.contracts.model import Strict
from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import ChannelKind

Channel = Annotated[
    DingTalk | Feishu | WeCom | Slack | Webhook | Mail | Sms | Phone | AppriseChannel | LogChannel,
    Field(discriminator="kind"),
]
EVERYONE = frozenset({"all", "@all"})
"""What a rule writes to call a whole chat."""
BY_NUMBER = frozenset({ChannelKind.DINGTALK, ChannelKind.WECOM, ChannelKind.SMS, ChannelKind.PHONE})
UNADDRESSED = frozenset({ChannelKind.LOG, ChannelKind.WEBHOOK, ChannelKind.APPRISE})
"""Channels that call nobody by name."""


VendorId = Annotated[str, Field(pattern=r'^[^\s<>"]{0,128}$')]
"""None of the signs that would end a mention early."""


class Person(Strict):
    """One person, as each vendor knows them; a vendor where somebody has no id reaches them by number or not at all."""

    dingtalk: VendorId = ""
    """userId of the DingTalk organisation."""
    feishu: VendorId = ""
    """open_id (``ou_...``) or user_id; Feishu and Lark alike."""
    wecom: VendorId = ""
    """userid of the WeCom corporation."""
    slack: VendorId = ""
    """Member id, ``U...``; ``S...`` is a user group."""
    mobile: str = Field(default="", pattern=rf"^$|{MOBILE}")
    """For SMS and phone, and for mentions in DingTalk and WeCom where there is no id; with ``+`` and country code."""
    email: str = Field(default="", pattern=rf"^$|{MAILBOX}")


class Channels(Strict):
    """All of the file; an empty one has no channels."""

    model_config = ConfigDict(hide_input_in_errors=True)

    channels: tuple[Channel, ...] = ()
    people: dict[str, Person] = Field(default_factory=dict)
    """By the name that rules call them."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Names of people, by the name that rules call them together; a group holds people, not groups."""
    allow: tuple[str, ...] = ()
    """Networks (``10.1.0.0/16``), addresses or host names of this site that channels may call although they are
    private. Loopback, private, link-local and metadata addresses are refused without it."""
    proxy: SecretStr | None = None
    """Address of the way out, as ``http://proxy.example:3128``, where there is no other; a secret, for it may hold a
    password. It resolves names itself, so what it may reach is its own rules' matter. Not for mail, nor apprise."""
    console: str = Field(default="", pattern=r"^$|^https?://[^\s/?#]+[^\s?#]*$")
    """Address of the console, as people reach it; what links in messages begin with. Empty: no links."""

    @field_validator("allow")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            network_of(entry)
        return value

    @field_validator("proxy")
    @classmethod
    def _reachable(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.match(r"^https?://[^\s/?#]+/?$", value.get_secret_value()):
            raise ValueError("is no proxy: write scheme, host and port, as http://proxy.example:3128")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [channel.name for channel in self.channels]
        twice = sorted({name for name in names if names.count(name) > 1})
        wrong = [f"channels: {', '.join(twice)} is there twice: give each channel a name of its own"] if twice else []
        for group, members in self.groups.items():
            if group in self.people or group in EVERYONE:
                wrong.append(f"groups.{group}: is also the name of a person or of everyone: name the group anew")
            if unknown := sorted(set(members) - self.people.keys()):
                wrong.append(f"groups.{group}: {', '.join(unknown)} is nobody in people: add them there")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def channel(self, name: str) -> Channel | None:
        """Return the channel of that name, None if there is none."""
        return next((one for one in self.channels if one.name == name), None)

    def mentions(self, name: str, people: Iterable[str]) -> Mentions:
        """Return whom a rule's names of people, groups and ``all`` are, for the channel ``name``."""
        channel = self.channel(name)
        if channel is None:
            return Mentions()
        asked = tuple(dict.fromkeys(one.removeprefix("@") for one in people))
        members = tuple(dict.fromkeys(one for who in asked for one in self.groups.get(who, (who,))))
        found = {who: self.people.get(who) for who in members if who not in EVERYONE}
        called = _called(channel.kind, {who: one for who, one in found.items() if one is not None})
        everyone = len(found) < len(members)
        return called.model_copy(
            update={
                "everyone": everyone,
                "missing": (*called.missing, *(who for who, one in found.items() if one is None)),
            }
        )


def _called(kind: ChannelKind, people: dict[str, Person]) -> Mentions:
    """Return them as the vendor knows them, each once: by id, else by number where the vendor mentions by numbers."""
    ids, mobiles, emails, missing = [], [], [], []
    for who, person in people.items():
        own, number = _id(kind, person), person.mobile if kind in BY_NUMBER else ""
        address = person.email if kind is ChannelKind.MAIL else ""
        if own:
            ids.append(own)
        elif number:
            mobiles.append(number)
        elif address:
            emails.append(address)
        elif kind not in UNADDRESSED:
            missing.append(who)
    return Mentions(ids=tuple(ids), mobiles=tuple(mobiles), emails=tuple(emails), missing=tuple(missing))


def _id(kind: ChannelKind, person: Person) -> str:
    match kind:
        case ChannelKind.DINGTALK:
            return person.dingtalk
        case ChannelKind.FEISHU | ChannelKind.LARK:
            return person.feishu
        case ChannelKind.WECOM:
            return person.wecom
        case ChannelKind.SLACK:
            return person.slack
        case _:
            return ""
