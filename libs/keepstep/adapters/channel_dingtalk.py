"""DingTalk's custom robot: signed in the query, actionCard with buttons or markdown, 20,000 bytes of body."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from keepstep.adapters.channel_cut import cut, fitted
from keepstep.adapters.channel_layout import laid_out, with_keyword
from keepstep.adapters.channel_markup import Format
from keepstep.adapters.channel_post import JSON_UTF8, Reply, Request
from keepstep.adapters.channel_robot import Judged, Payload, judged_by
from keepstep.adapters.channel_secret import address_of, revealed
from keepstep.adapters.channel_signature import dingtalk_signature
from keepstep.adapters.channel_words import Words, worded
from keepstep.contracts.channel_kinds import DingTalk
from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import ChannelKind
from keepstep.ports.sink import Notice

LONGEST = 20_000
"""Bytes of the whole body; longer ones are refused."""
TITLE = 200
"""Bytes: the title is what the list of chats shows."""
BUTTONS = 4
"""More of them push the text out of sight."""


class DingTalkRobot:
    """Vendor DingTalk."""

    def __init__(self, channel: DingTalk) -> None:
        """``channel`` is its part of the channels file."""
        self._channel = channel

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the notice as one message, a large digest as several."""
        channel = self._channel
        pieces = fitted(notice, lambda one: len(orjson.dumps(self._payload(one))), LONGEST, channel.language)
        return [self._payload(one) for one in pieces]

    def request(self, part: Payload, now: datetime) -> Request:
        """Return the request; timestamp and signature are in the query, encoded once."""
        channel = self._channel
        url = address_of(channel)
        secret = revealed(channel.secret, channel.secret_file)
        if secret:
            stamp, signature = dingtalk_signature(secret, now)
            url = url.copy_merge_params({"timestamp": stamp, "sign": signature})
        return Request(url, orjson.dumps(part), headers=JSON_UTF8, secrets=(secret,))

    def judged(self, reply: Reply) -> Judged | None:
        """Return the row of ``errcode`` and, for 310000 has four causes, of ``errmsg``."""
        return judged_by(ChannelKind.DINGTALK, reply)

    def _payload(self, notice: Notice) -> Payload:
        channel = self._channel
        words = worded(notice, channel.language, channel.zone)
        title = with_keyword(cut(f"{words.sign} {words.title}", TITLE, "…"), channel.keyword)
        called = _called(notice.mentions)
        if channel.style == "text":
            text = laid_out(words, Format.TEXT, called=called, keyword=channel.keyword)
            content: Payload = {"msgtype": "text", "text": {"content": text}}
        elif channel.style == "card" and words.links and not called:
            return _card(words, title, channel.keyword)
        else:
            text = laid_out(words, Format.DINGTALK, called=called, keyword=channel.keyword)
            content = {"msgtype": "markdown", "markdown": {"title": title, "text": text}}
        return content | {"at": _at(notice.mentions)}


def _card(words: Words, title: str, keyword: str) -> Payload:
    """Return an actionCard: it calls nobody, so messages with mentions are none."""
    text = laid_out(words, Format.DINGTALK, links=False, keyword=keyword)
    buttons = [{"title": name, "actionURL": url} for name, url in words.links[:BUTTONS]]
    card: Payload = {"title": title, "text": text, "btnOrientation": "1" if len(buttons) == 2 else "0"}
    if len(buttons) == 1:
        card |= {"singleTitle": buttons[0]["title"], "singleURL": buttons[0]["actionURL"]}
    else:
        card["btns"] = buttons
    return {"msgtype": "actionCard", "actionCard": card}


def _at(mentions: Mentions) -> Payload:
    return {"atMobiles": mentions.mobiles, "atUserIds": mentions.ids, "isAtAll": mentions.everyone}


def _called(mentions: Mentions) -> str:
    """Return the line without which a mention is not drawn."""
    return " ".join(f"@{one}" for one in (*mentions.mobiles, *mentions.ids, *(["all"] if mentions.everyone else [])))
