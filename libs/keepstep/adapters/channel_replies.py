"""What vendors answer and what it means: HTTP 200 is not success, the code in the body says how it went.

Codes after the vendors' documentation and threads about it; those marked so are from memory. An unknown code is tried
again: a message that may yet arrive is worth a few tries, and tries are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from keepstep.contracts.taxonomy import ChannelKind


class Fate(StrEnum):
    """What to do after an answer."""

    SENT = "sent"
    AGAIN = "again"
    RESIGN = "resign"
    """Once more at once with a fresh timestamp, then never."""
    NEVER = "never"


@dataclass(frozen=True)
class Row:
    """One row: a code, a piece of its text where the code has several meanings, and what follows."""

    code: str
    fate: Fate
    remedy: str
    part: str = ""
    """Looked for in the vendor's text without regard to case; empty fits any."""
    pause: timedelta = timedelta(0)


MINUTE = timedelta(minutes=1)
BAN = timedelta(minutes=10)
"""How long DingTalk refuses a robot that sent more than 20 in a minute."""
BUG = "a fault of keepstep: please report it"
SENT, AGAIN, RESIGN, NEVER = Fate.SENT, Fate.AGAIN, Fate.RESIGN, Fate.NEVER
UNKNOWN = Row("", AGAIN, "a code that keepstep does not know", pause=MINUTE)

DINGTALK = (
    Row("0", SENT, ""),
    Row("-1", AGAIN, "DingTalk is busy", pause=timedelta(seconds=5)),
    Row("130101", AGAIN, "more than 20 messages a minute; lower limit.per_minute", pause=BAN),
    Row("410100", AGAIN, "sent too fast; lower limit.per_minute", pause=MINUTE),
    Row("310000", NEVER, "set keyword to one of the robot's keywords", part="keyword"),
    Row("310000", RESIGN, "this machine's clock or the secret is wrong", part="timestamp"),
    Row("310000", NEVER, "set secret to the one that DingTalk shows, beginning with SEC", part="sign"),
    Row("310000", NEVER, "add this cluster's way out to the robot's addresses", part="whitelist"),
    Row("310000", NEVER, "compare the robot's security settings with the channel's"),
    Row("300001", NEVER, "no such token: copy the robot's address anew"),
    Row("300005", NEVER, "no such token: copy the robot's address anew"),
    Row("400101", NEVER, "no such token: copy the robot's address anew"),
    Row("400102", NEVER, "the robot is stopped: enable it in the group"),
    Row("400013", NEVER, "the group is dissolved: make a robot in another"),
    Row("400105", NEVER, BUG),
    Row("400106", NEVER, "the robot is gone: make a new one and set its address"),
    Row("40035", NEVER, "the address lacks its access_token"),
    Row("43002", NEVER, BUG),
    Row("43004", NEVER, BUG),
    Row("460101", NEVER, BUG),  # from memory: longer than 20,000 bytes
)
FEISHU = (
    Row("0", SENT, ""),
    Row("19021", RESIGN, "this machine's clock or the secret is wrong"),
    Row("19022", NEVER, "add this cluster's way out to the bot's addresses"),
    Row("19024", NEVER, "set keyword to one of the bot's keywords"),
    Row("19001", NEVER, "no such token: copy the bot's address anew"),  # from memory
    Row("9499", AGAIN, "too many messages; lower limit", part="too many", pause=MINUTE),
    Row("9499", NEVER, BUG),
    Row("11232", AGAIN, "too many messages; lower limit", pause=timedelta(seconds=17)),  # off :00 and :30
    Row("19036", NEVER, BUG),
)
WECOM = (
    Row("0", SENT, ""),
    Row("-1", AGAIN, "WeCom is busy", pause=timedelta(seconds=5)),  # from memory
    Row("45009", AGAIN, "more than 20 messages a minute; lower limit.per_minute", pause=MINUTE),
    Row("93000", NEVER, "no such key: copy the robot's address anew"),
    Row("40058", NEVER, BUG),
)
SLACK = (
    Row("ok", SENT, ""),
    Row("rollup_error", AGAIN, "Slack is busy", pause=timedelta(seconds=5)),
    Row("rate_limited", AGAIN, "more than one message a second; lower limit", pause=timedelta(seconds=30)),
    Row("invalid_payload", NEVER, BUG),
    Row("invalid_blocks", NEVER, BUG),
    Row("no_text", NEVER, BUG),
    Row("too_many_attachments", NEVER, BUG),
    Row("user_not_found", NEVER, "a Slack id in people is nobody's"),
    Row("channel_not_found", NEVER, "the Slack channel is gone: make a webhook in another"),
    Row("channel_is_archived", NEVER, "the Slack channel is archived: make a webhook in another"),
    Row("action_prohibited", NEVER, "the workspace's administrator forbids it"),
    Row("posting_to_general_channel_denied", NEVER, "the workspace's administrator forbids it"),
    Row("no_service", NEVER, "the webhook is disabled or gone: make a new one"),
    Row("no_service_id", NEVER, "the address is cut short: copy it anew"),
    Row("no_team", NEVER, "the workspace is gone"),
    Row("team_disabled", NEVER, "the workspace is disabled"),
    Row("invalid_token", NEVER, "the webhook is gone: make a new one"),
)
TABLES: Mapping[ChannelKind, Sequence[Row]] = {
    ChannelKind.DINGTALK: DINGTALK,
    ChannelKind.FEISHU: FEISHU,
    ChannelKind.LARK: FEISHU,
    ChannelKind.WECOM: WECOM,
    ChannelKind.SLACK: SLACK,
}


def row_of(kind: ChannelKind, code: str, text: str) -> Row:
    """Return the row of an answer: the first whose code is this and whose part is in the text, else the unknown one."""
    lowered = text.lower()
    fitting = (row for row in TABLES[kind] if row.code == code and row.part in lowered)
    return next(fitting, UNKNOWN)
