"""Feishu's and Lark's custom bot: signed in the body, interactive cards, 20 KB of body."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from keepstep.adapters.channel_cut import fitted
from keepstep.adapters.channel_layout import laid_out, with_keyword
from keepstep.adapters.channel_markup import Format
from keepstep.adapters.channel_post import JSON_UTF8, Reply, Request
from keepstep.adapters.channel_robot import Judged, Payload, judged_by
from keepstep.adapters.channel_secret import address_of, revealed
from keepstep.adapters.channel_signature import feishu_signature
from keepstep.adapters.channel_words import Words, worded
from keepstep.contracts.channel_kinds import Feishu
from keepstep.contracts.notice import Mentions
from keepstep.core.words.facts import name
from keepstep.ports.sink import Notice

LONGEST = 20_000 - 200
"""Bytes of the body that the guide allows, less what timestamp and signature take."""
COLOURS = {"🔴": "red", "🟠": "orange", "🔵": "blue", "🟢": "green"}


class FeishuBot:
    """Vendor Feishu, and Lark, whose address alone differs."""

    def __init__(self, channel: Feishu) -> None:
        """``channel`` is its part of the channels file."""
        self._channel = channel

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the notice as one message, a large digest as several."""
        pieces = fitted(notice, lambda one: len(orjson.dumps(self._payload(one))), LONGEST, self._channel.language)
        return [self._payload(one) for one in pieces]

    def request(self, part: Payload, now: datetime) -> Request:
        """Return the request; timestamp and signature are members of the body."""
        channel = self._channel
        url = address_of(channel)
        secret, signed = revealed(channel.secret, channel.secret_file), Payload()
        if secret:
            stamp, signature = feishu_signature(secret, now)
            signed = {"timestamp": stamp, "sign": signature}
        return Request(url, orjson.dumps(signed | part), headers=JSON_UTF8, secrets=(secret,))

    def judged(self, reply: Reply) -> Judged | None:
        """Return the row of ``code``; older answers have ``StatusCode`` alone."""
        kind = self._channel.kind
        return judged_by(kind, reply, code="code", text="msg") or judged_by(
            kind, reply, code="StatusCode", text="StatusMessage"
        )

    def _payload(self, notice: Notice) -> Payload:
        channel = self._channel
        words = worded(notice, channel.language, channel.zone)
        if channel.style == "text":
            quiet = laid_out(words, Format.TEXT, keyword=channel.keyword).replace("<", "＜")
            text = "\n".join(filter(None, (quiet, _called_in_text(notice.mentions, words))))
            return {"msg_type": "text", "content": {"text": text}}
        return {"msg_type": "interactive", "card": _card(words, notice.mentions, channel.keyword)}


def _card(words: Words, mentions: Mentions, keyword: str) -> Payload:
    """Return the card; what others wrote stands in ``plain_text``, where nothing is markup."""
    title = with_keyword(f"{words.sign} {words.title}", keyword)
    members = (f"{one.sign} {one.title} {one.incident}" for one in words.members)
    body = "\n".join(filter(None, (words.lead, words.text, *members)))
    elements: list[Payload] = [{"tag": "div", "text": _plain(with_keyword(body, keyword))}] if body else []
    if words.facts:
        fields = [{"is_short": True, "text": _plain(f"{name}\n{value}")} for name, value in words.facts]
        elements.append({"tag": "div", "fields": fields})
    if words.missing:
        elements.append(
            {"tag": "div", "text": _plain(f"{name('missing', words.language)}: {', '.join(words.missing)}")}
        )
    if called := " ".join(f"<at id={one}></at>" for one in (*mentions.ids, *(["all"] if mentions.everyone else []))):
        elements.append({"tag": "div", "text": {"tag": "lark_md", "content": called}})
    if words.links:
        buttons = [
            {"tag": "button", "text": _plain(name), "type": "default" if number else "primary", "url": url}
            for number, (name, url) in enumerate(words.links)
        ]
        elements.append({"tag": "action", "actions": buttons})
    elements.append({"tag": "note", "elements": [_plain(words.footer)]})
    header = {"template": COLOURS[words.sign], "title": _plain(title)}
    return {"config": {"wide_screen_mode": True}, "header": header, "elements": elements}


def _plain(text: str) -> Payload:
    return {"tag": "plain_text", "content": text}


def _called_in_text(mentions: Mentions, words: Words) -> str:
    """Return the mentions of a text message, whose form is not that of cards."""
    people = [f'<at user_id="{one}"></at>' for one in mentions.ids]
    everyone = f'<at user_id="all">{name("everyone", words.language)}</at>'
    return " ".join([*people, *([everyone] if mentions.everyone else [])])
