"""How requests are signed, each vendor in its own way, and anew at every try: an old one is refused after an hour."""

import base64
import hashlib
import hmac
from datetime import datetime


def dingtalk_signature(secret: str, now: datetime) -> tuple[str, str]:
    r"""Return timestamp in milliseconds and signature in base64, not yet URL-encoded.

    Key is the secret, message is ``<timestamp>\n<secret>`` (DingTalk, custom robot access).
    """
    stamp = str(int(now.timestamp() * 1000))
    return stamp, _base64(secret.encode(), f"{stamp}\n{secret}".encode())


def feishu_signature(secret: str, now: datetime) -> tuple[str, str]:
    r"""Return timestamp in seconds and signature in base64.

    Key is ``<timestamp>\n<secret>``, the message is empty (Feishu, custom bot guide): the other way round.
    """
    stamp = str(int(now.timestamp()))
    return stamp, _base64(f"{stamp}\n{secret}".encode(), b"")


def webhook_signature(secret: str, now: datetime, body: bytes) -> str:
    """Return ``t=<seconds>,v1=<hex>``, HMAC-SHA256 over ``<seconds>.<body>``: a receiver can refuse old ones."""
    stamp = str(int(now.timestamp()))
    digest = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={stamp},v1={digest}"


def _base64(key: bytes, message: bytes) -> str:
    return base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
