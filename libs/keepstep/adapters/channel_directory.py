"""From a route's sink to what delivers: ``log``, an http(s) address, or a channel of the file."""

from datetime import timedelta

import httpx

from keepstep.adapters.channel_dingtalk import DingTalkRobot
from keepstep.adapters.channel_feishu import FeishuBot
from keepstep.adapters.channel_file import Source
from keepstep.adapters.channel_guard import Allowed, GuardedTransport, Resolve, resolved
from keepstep.adapters.channel_mail import MailSink
from keepstep.adapters.channel_post import quiet_client
from keepstep.adapters.channel_robot import RobotSink, Vendor
from keepstep.adapters.channel_slack import SlackWebhook
from keepstep.adapters.channel_webhook import GatewayVendor, WebhookVendor
from keepstep.adapters.channel_wecom import WeComRobot
from keepstep.adapters.sink_webhook import WebhookSink
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
from keepstep.contracts.channels import Channel, Channels
from keepstep.core.masking import masked
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Notice, Receipt, Sink

LOG = "log"
WAIT = timedelta(seconds=30)
"""Until a person has mended the file."""


class ChannelDirectory:
    """The sinks of this site, as its channels file has them now."""

    def __init__(
        self,
        file: Source,
        lines: Sink,
        clock: Clock,
        *,
        limit: timedelta,
        resolve: Resolve = resolved,
    ) -> None:
        """``lines`` is the sink ``log``; a step of a delivery takes at most ``limit``."""
        self._file, self._lines, self._clock, self._limit, self._resolve = file, lines, clock, limit, resolve
        self._sinks: dict[str, tuple[Channel, Sink]] = {}
        self._way: tuple[object, ...] = ()
        self._allowed = Allowed()
        self._client: httpx.AsyncClient | None = None

    @property
    def channels(self) -> Channels:
        """The channels file as it is now, or as it was when it was last in order."""
        return self._file.current()

    def __call__(self, address: str) -> Sink:
        """Return the sink; raises Permanent for one that is none, Transient while the channels file is broken."""
        channels = self._file.current()
        channel = channels.channel(address)
        if channel is not None:
            return self._of(channel, channels)
        if address == LOG:
            return self._lines
        if address.startswith(("http://", "https://")):
            return WebhookSink(address, self._calling(channels))
        if self._file.trouble:
            raise Transient(f"no channel {masked(address)!r}: {self._file.trouble}", retry_after=WAIT)
        known = ", ".join((LOG, *(one.name for one in channels.channels)))
        raise Permanent(f"there is no sink {masked(address)!r}: a route names one of {known}, or an http(s) address")

    def _of(self, channel: Channel, channels: Channels) -> Sink:
        """Return the channel's sink; the same one while the channel stays as it is, for it remembers what it sent."""
        client = self._calling(channels)
        known = self._sinks.get(channel.name)
        if known is None or known[0] != channel:
            known = (channel, MinimumSink(channel, self._made(channel, client)))
            self._sinks[channel.name] = known
        return known[1]

    def _calling(self, channels: Channels) -> httpx.AsyncClient:
        """Return the guarded client; another allow-list or proxy makes another one, and new sinks that use it."""
        way = (channels.allow, channels.proxy)
        if self._client is None or way != self._way:
            self._way, self._allowed = way, Allowed(channels.allow)
            proxy = None if channels.proxy is None else channels.proxy.get_secret_value()
            transport = GuardedTransport(self._allowed, resolve=self._resolve, proxy=proxy)
            self._client = quiet_client(limit=self._limit, transport=transport)
            self._sinks.clear()
        return self._client

    def _made(self, channel: Channel, client: httpx.AsyncClient) -> Sink:
        match channel:
            case LogChannel():
                return self._lines
            case Mail():
                return MailSink(channel, self._clock, seconds=self._limit.total_seconds())
            case AppriseChannel():
                return self._by_apprise(channel)
            case Sms() | Phone() if channel.by_apprise:
                return self._by_apprise(channel)
            case _:
                return RobotSink(channel.name, _vendor(channel), client, self._clock)

    def _by_apprise(self, channel: AppriseChannel | Sms | Phone) -> Sink:
        from keepstep.adapters.channel_apprise import AppriseSink  # noqa: PLC0415 - a third of all that a channel loads

        return AppriseSink(channel, self._allowed, resolve=self._resolve)


def _vendor(channel: DingTalk | Feishu | WeCom | Slack | Webhook | Sms | Phone) -> Vendor:
    match channel:
        case DingTalk():
            return DingTalkRobot(channel)
        case Feishu():
            return FeishuBot(channel)
        case WeCom():
            return WeComRobot(channel)
        case Slack():
            return SlackWebhook(channel)
        case Webhook():
            return WebhookVendor(channel)
        case Sms() | Phone():
            return GatewayVendor(channel)


class MinimumSink:
    """Port Sink that refuses what is milder than its channel takes: nobody is called at night for a note."""

    def __init__(self, channel: Channel, inner: Sink) -> None:
        """``inner`` delivers."""
        self._channel, self._inner = channel, inner

    async def deliver(self, notice: Notice) -> Receipt | None:
        """Deliver; Permanent with the code ``minimum`` for what the channel does not take."""
        if not self._channel.takes(notice.loudness):
            because = f"{self._channel.name} takes {self._channel.minimum} and above, this is {notice.loudness}"
            raise Permanent(because, code="minimum")
        return await self._inner.deliver(notice)
