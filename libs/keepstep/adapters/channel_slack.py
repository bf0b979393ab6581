"""Slack's incoming webhook: blocks, and a word for an answer; success is ``ok`` and nothing else."""

import re
from collections.abc import Sequence
from datetime import datetime

import orjson

from keepstep.adapters.channel_cut import cut, fitted
from keepstep.adapters.channel_markup import Format, escaped
from keepstep.adapters.channel_post import JSON_UTF8, Reply, Request
from keepstep.adapters.channel_replies import row_of
from keepstep.adapters.channel_robot import Judged, Payload
from keepstep.adapters.channel_secret import address_of
from keepstep.adapters.channel_words import Words, worded
from keepstep.contracts.channel_kinds import Slack
from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import ChannelKind
from keepstep.core.words.facts import name
from keepstep.ports.sink import Notice

SECTION = 3_000
"""Characters of a section's text; bytes are never fewer."""
HEADER, FIELDS, FIELD, BUTTONS = 150, 10, 400, 5
"""Of a field 2,000 characters are taken, which an escaped value of 400 bytes keeps to."""
WORD = re.compile(r"^[a-z_]{2,60}$")


class SlackWebhook:
    """Vendor Slack."""

    def __init__(self, channel: Slack) -> None:
        """``channel`` is its part of the channels file."""
        self._channel = channel

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the notice as one message, a large digest as several."""
        pieces = fitted(notice, lambda one: len(self._body(one).encode()), SECTION, self._channel.language)
        return [self._payload(one) for one in pieces]

    def request(self, part: Payload, now: datetime) -> Request:  # noqa: ARG002 - the others sign for the instant
        """Return the request."""
        return Request(address_of(self._channel), orjson.dumps(part), headers=JSON_UTF8)

    def judged(self, reply: Reply) -> Judged | None:
        """Return the row of the word that Slack answers."""
        word = reply.text.strip()
        return Judged(row_of(ChannelKind.SLACK, word, word), word, "") if WORD.match(word) else None

    def _body(self, notice: Notice) -> str:
        return _section(worded(notice, self._channel.language, self._channel.zone), notice.mentions)

    def _payload(self, notice: Notice) -> Payload:
        words = worded(notice, self._channel.language, self._channel.zone)
        title = f"{words.sign} {words.title}"
        blocks: list[Payload] = [{"type": "header", "text": _plain(cut(title, HEADER, "…"))}]
        blocks.append({"type": "section", "text": _marked(_section(words, notice.mentions))})
        if words.facts:
            fields = [
                _marked(f"*{_safe(name)}*\n{_safe(cut(value, FIELD, '…'))}") for name, value in words.facts[:FIELDS]
            ]
            blocks.append({"type": "section", "fields": fields})
        if words.links:
            buttons = [{"type": "button", "text": _plain(name), "url": url} for name, url in words.links[:BUTTONS]]
            blocks.append({"type": "actions", "elements": buttons})
        blocks.append({"type": "context", "elements": [_plain(words.footer)]})
        return {"text": _safe(title), "blocks": blocks}


def _section(words: Words, mentions: Mentions) -> str:
    quoted = "\n".join(f"> {_safe(line)}" for line in words.text.splitlines())
    members = (f"{one.sign} {_safe(one.title)} `{one.incident}`" for one in words.members)
    missing = f"{name('missing', words.language)}: {_safe(', '.join(words.missing))}" if words.missing else ""
    parts = (_safe(words.lead), quoted, *members, missing, _called(mentions))
    return "\n".join(part for part in parts if part) or _safe(words.title)


def _called(mentions: Mentions) -> str:
    people = [f"<!subteam^{one}>" if one.startswith("S") else f"<@{one}>" for one in mentions.ids]
    return " ".join([*people, *(["<!channel>"] if mentions.everyone else [])])


def _safe(text: str) -> str:
    return escaped(text, Format.SLACK)


def _plain(text: str) -> Payload:
    return {"type": "plain_text", "text": text, "emoji": True}


def _marked(text: str) -> Payload:
    return {"type": "mrkdwn", "text": text}
