"""WeCom's group robot: no signature, the key in the address is all; 4,096 bytes of markdown, 2,048 of text."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from keepstep.adapters.channel_cut import cut, fitted
from keepstep.adapters.channel_layout import laid_out
from keepstep.adapters.channel_markup import Format
from keepstep.adapters.channel_post import JSON_UTF8, Reply, Request
from keepstep.adapters.channel_robot import Judged, Payload, judged_by
from keepstep.adapters.channel_secret import address_of
from keepstep.adapters.channel_words import Words, worded
from keepstep.contracts.channel_kinds import WeCom
from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import ChannelKind
from keepstep.ports.sink import Notice

MARKDOWN = 4_096
TEXT = 2_048
"""Bytes of UTF-8 of ``content``, not characters: 1,365 Chinese ones fill a markdown message."""
CARD = 4_096
"""Bytes of a template_card; no limit of its own is documented, so it is held to that of markdown."""
ROWS, JUMPS = 6, 3
"""Of horizontal_content_list and jump_list."""


class WeComRobot:
    """Vendor WeCom."""

    def __init__(self, channel: WeCom) -> None:
        """``channel`` is its part of the channels file."""
        self._channel = channel

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the notice as one message, a large digest as several."""
        most = {"text": TEXT, "markdown": MARKDOWN, "template_card": CARD}[str(self._payload(notice)["msgtype"])]
        pieces = fitted(notice, lambda one: _size(self._payload(one)), most, self._channel.language)
        return [self._payload(one) for one in pieces]

    def request(self, part: Payload, now: datetime) -> Request:  # noqa: ARG002 - the others sign for the instant
        """Return the request."""
        return Request(address_of(self._channel), orjson.dumps(part), headers=JSON_UTF8)

    def judged(self, reply: Reply) -> Judged | None:
        """Return the row of ``errcode``."""
        return judged_by(ChannelKind.WECOM, reply)

    def _payload(self, notice: Notice) -> Payload:
        channel, mentions = self._channel, notice.mentions
        words = worded(notice, channel.language, channel.zone)
        if channel.style == "text" or mentions.mobiles or mentions.everyone:
            return _text(words, mentions)
        if channel.style == "card" and words.links and not mentions.ids and not words.members:
            return {"msgtype": "template_card", "template_card": _card(words)}
        called = " ".join(f"<@{one}>" for one in mentions.ids)
        return {"msgtype": "markdown", "markdown": {"content": laid_out(words, Format.WECOM, called=called)}}


def _size(payload: Payload) -> int:
    kind = str(payload["msgtype"])
    inner = payload[kind]
    content = inner.get("content") if isinstance(inner, dict) else None
    return len(content.encode()) if isinstance(content, str) else len(orjson.dumps(inner))


def _text(words: Words, mentions: Mentions) -> Payload:
    """Return a text message: markdown calls nobody by number, nor everyone."""
    everyone = ("@all",) if mentions.everyone else ()
    text: Payload = {"content": laid_out(words, Format.TEXT).replace("<@", "＜@")}
    return {
        "msgtype": "text",
        "text": text | {"mentioned_list": (*mentions.ids, *everyone), "mentioned_mobile_list": mentions.mobiles},
    }


def _card(words: Words) -> Payload:
    """Return a text_notice; all its parts are plain text."""
    rows = [{"keyname": name, "value": cut(value, 90, "…")} for name, value in words.facts[:ROWS]]
    jumps = [{"type": 1, "title": name, "url": url} for name, url in words.links[:JUMPS]]
    return {
        "card_type": "text_notice",
        "main_title": {"title": f"{words.sign} {words.title}", "desc": words.lead},
        "sub_title_text": f"{words.text}\n{words.footer}".strip(),
        "horizontal_content_list": rows,
        "jump_list": jumps,
        "card_action": {"type": 1, "url": words.links[0][1]},
    }
