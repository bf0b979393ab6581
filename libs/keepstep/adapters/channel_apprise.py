"""Whatever apprise knows, by its address; what it gets wrong is refused and has a kind of its own.

Measured of apprise 2.3: it encodes DingTalk's signature twice, has none for Feishu and Lark, and takes WeCom's error
codes in HTTP 200 for success. It says only whether it worked; the code is read from the warnings that it logs.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import quote

import apprise

from keepstep.adapters.channel_cut import fitted
from keepstep.adapters.channel_guard import Allowed, Resolve, resolved
from keepstep.adapters.channel_layout import laid_out
from keepstep.adapters.channel_markup import Format
from keepstep.adapters.channel_secret import Mask, revealed
from keepstep.adapters.channel_webhook import numbers_of, texts
from keepstep.adapters.channel_words import plain, worded
from keepstep.contracts.channel_kinds import AppriseChannel, Gateway
from keepstep.contracts.taxonomy import Severity
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Notice, Receipt

OURS = {
    "dingtalk": "dingtalk",
    "feishu": "feishu",
    "lark": "lark",
    "wecombot": "wecom",
    "json": "webhook",
    "jsons": "webhook",
    "xml": "webhook",
    "xmls": "webhook",
    "form": "webhook",
    "forms": "webhook",
    "mailto": "mail",
    "mailtos": "mail",
}
"""Schemes that have a better kind: signed, judged by code, guarded."""
TYPES = {
    Severity.INFO: apprise.NotifyType.INFO,
    Severity.WARNING: apprise.NotifyType.WARNING,
    Severity.CRITICAL: apprise.NotifyType.FAILURE,
}
CODE = re.compile(r"error=(\d{3})")
LASTING = frozenset({"400", "401", "403", "404", "405", "410", "413", "422"})
_LOG = logging.getLogger("apprise")


class AppriseSink:
    """Port Sink over one address of apprise, for chats and telephones alike."""

    def __init__(self, channel: AppriseChannel | Gateway, allowed: Allowed, *, resolve: Resolve = resolved) -> None:
        """``allowed`` is what of the site's own may be called: hosts are judged before apprise calls them."""
        self._channel, self._allowed, self._resolve = channel, allowed, resolve
        self._turn = asyncio.Lock()

    async def deliver(self, notice: Notice) -> Receipt:
        """Send it in a thread of its own, for apprise blocks; Permanent for an address that it does not know."""
        address = self._address(notice)
        mask = Mask((address,))
        target = _target(address, self._channel.name)
        await self._judge(target)
        messages = self._messages(notice, int(target.body_maxlen))
        for title, body in messages:
            async with self._turn:
                told, said = await asyncio.to_thread(_notify, target, title, body, TYPES[notice.severity])
            if not told:
                raise _refused(self._channel.name, mask.hide(" ".join(plain(said).split())))
        return Receipt("ok", calls=len(messages))

    def _address(self, notice: Notice) -> str:
        channel = self._channel
        if isinstance(channel, AppriseChannel):
            return revealed(channel.url, channel.url_file)
        address = revealed(channel.apprise, channel.apprise_file)
        return address.replace("{to}", "/".join(quote(one, safe="") for one in numbers_of(channel, notice)))

    def _messages(self, notice: Notice, most: int) -> Sequence[tuple[str, str]]:
        """Return titles and bodies, each body within the ``most`` characters that the service takes."""
        channel = self._channel
        if isinstance(channel, Gateway):
            return [("", text) for text in texts(channel, notice)]

        def message(one: Notice) -> tuple[str, str]:
            words = worded(one, channel.language, channel.zone)
            return f"{words.sign} {words.title}", laid_out(words, Format.TEXT)

        return [
            message(one)
            for one in fitted(notice, lambda one: len("".join(message(one)).encode()), most, channel.language)
        ]

    async def _judge(self, target: apprise.NotifyBase) -> None:
        """Refuse a host of the inside; of addresses without a host the vendor's own is called."""
        host = target.host if any("{host}" in str(one) for one in _templates(target)) else None
        if not isinstance(host, str):
            return
        try:
            found = await self._resolve(host, target.port or 443)
        except (OSError, UnicodeError):
            found = ()
        for one in found:
            if why := self._allowed.refusal(host, ip_address(one)):
                raise Permanent(f"{host} is {one}, {why}: if it is to be called, add it to allow in the channels file")


def _target(address: str, name: str) -> apprise.NotifyBase:
    """Return apprise's object for the address. Raises Permanent."""
    scheme = address.partition("://")[0].lower()
    if scheme in OURS:
        raise Permanent(f"{name}: apprise falls short for {scheme}: write kind {OURS[scheme]} instead")
    _quiet()
    made = apprise.Apprise.instantiate(address, suppress_exceptions=True)
    if made is None:
        raise Permanent(f"{name}: apprise knows no such address: see its list of services for the form")
    made.overflow_mode = apprise.OverflowMode.SPLIT
    return made


def _quiet() -> None:
    """Keep what apprise logs to ourselves: its details repeat whole answers, and those below it whole addresses."""
    _LOG.propagate = False
    for name in ("apprise", "urllib3", "requests"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _templates(target: apprise.NotifyBase) -> Sequence[object]:
    """Return the forms that addresses of this service have."""
    return tuple(target.templates)


def _notify(target: apprise.NotifyBase, title: str, body: str, kind: apprise.NotifyType) -> tuple[bool, str]:
    """Return whether it worked and what apprise logged about it."""
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log:  # type: ignore[no-untyped-call]  # apprise annotates it half
        told = target.notify(title=title, body=body, notify_type=kind)
        return bool(told), log.getvalue()


def _refused(name: str, said: str) -> Transient | Permanent:
    code = CODE.search(said)
    because = f"{name}: apprise could not deliver: {said[:200] or 'it does not say why'}"
    if code is not None and code[1] in LASTING:
        return Permanent(because, code=code[1])
    return Transient(because, code="" if code is None else code[1])
