"""The kind of channel a notification went to, as a closed set: a label may not hold what people write into a file."""

from keepstep.contracts.events import NotificationDelayed, NotificationDelivered, NotificationDropped

OTHER = "other"
CHANNELS = (
    "dingtalk", "feishu", "lark", "wecom", "slack", "webhook", "mail", "sms", "phone", "apprise", "log", "kubernetes",
    OTHER,
)  # fmt: skip
OUTCOMES = ("delivered", "delayed", "dropped")


def channel_of(message: NotificationDelivered | NotificationDelayed | NotificationDropped) -> str:
    """Return the kind of the channel, ``other`` where only its name is known."""
    told = getattr(message, "channel_kind", "") or message.sink
    if told.startswith(("http://", "https://")):
        return "webhook"
    return told if told in CHANNELS else OTHER
