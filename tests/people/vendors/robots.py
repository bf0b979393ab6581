"""DingTalk, Feishu, WeCom and Slack as their documentation describes them, each with checks of its own."""

import base64
import json
from datetime import datetime
from typing import Any

from tests.people.vendors.server import Answer, Asked, Vendor, hmac_sha256

TOKEN = "t0ken-nobody-may-see"  # noqa: S105 - invented
SECRET = "SECret-nobody-may-see"  # noqa: S105 - invented


def code(number: int, text: str) -> Answer:
    return 200, {}, {"errcode": number, "errmsg": text}


class DingTalk(Vendor):
    """One custom robot, with signature and, if set, a keyword."""

    def __init__(self, now: datetime, *, keyword: str = "") -> None:
        self.now, self.keyword = now, keyword
        super().__init__()

    @property
    def url(self) -> str:
        return f"{self.root}/robot/send?access_token={TOKEN}"

    def judge(self, asked: Asked) -> Answer:
        if asked.query.get("access_token") != TOKEN:
            return code(300005, "token is not exist")
        if not asked.headers.get("Content-Type", "").startswith("application/json"):
            return code(43004, "invalid http Content-Type header")
        stamp = asked.query.get("timestamp", "0")
        if abs(self.now.timestamp() * 1000 - int(stamp)) > 3_600_000:
            return code(310000, "invalid timestamp")
        expected = base64.b64encode(hmac_sha256(SECRET.encode(), f"{stamp}\n{SECRET}".encode())).decode()
        if asked.query.get("sign") != expected:
            return code(310000, "sign not match, more: [https://ding-doc.dingtalk.com]")
        if len(asked.body) > 20_000:
            return code(460101, "message too long, exceed 20000 bytes")
        return self._content(asked)

    def _content(self, asked: Asked) -> Answer:
        said = asked.json
        parts = said[said["msgtype"]]
        shown = [parts.get("title", ""), parts.get("text") or parts.get("content", "")]
        if self.keyword and not all(self.keyword in one for one in shown if one):
            return code(310000, "keywords not in content")
        if said["msgtype"] not in {"text", "markdown", "actionCard"}:
            return code(400105, "unsupported msgtype")
        for mobile in said.get("at", {}).get("atMobiles", []):
            if f"@{mobile}" not in shown[1]:
                return code(40035, "a mention that would not be drawn")
        self.taken.append(asked)
        return code(0, "ok")


class Feishu(Vendor):
    """One custom bot, with signature and, if set, a keyword; its answers have ``code`` and, of old, ``StatusCode``."""

    def __init__(self, now: datetime, *, keyword: str = "") -> None:
        self.now, self.keyword = now, keyword
        super().__init__()

    @property
    def url(self) -> str:
        return f"{self.root}/open-apis/bot/v2/hook/{TOKEN}"

    def judge(self, asked: Asked) -> Answer:
        said = asked.json
        stamp = said.get("timestamp", "0")
        if not isinstance(stamp, str):
            return self.code(9499, "Bad Request")
        expected = base64.b64encode(hmac_sha256(f"{stamp}\n{SECRET}".encode(), b"")).decode()
        if abs(self.now.timestamp() - int(stamp)) > 3600 or said.get("sign") != expected:
            return self.code(19021, "sign match fail or timestamp is not within one hour from current time")
        if len(asked.body) > 20_000:
            return self.code(19036, "body too large")
        kinds = {"text": "content", "interactive": "card"}
        if said.get("msg_type") not in kinds or not isinstance(said.get(kinds[said["msg_type"]]), dict):
            return self.code(9499, "Bad Request")
        if self.keyword not in json.dumps(said, ensure_ascii=False):
            return self.code(19024, "Key Words Not Found")
        self.taken.append(asked)
        return 200, {}, {"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"}

    @staticmethod
    def code(number: int, text: str) -> Answer:
        return 200, {}, {"code": number, "data": {}, "msg": text}


class WeCom(Vendor):
    """One group robot; it counts bytes of UTF-8."""

    @property
    def url(self) -> str:
        return f"{self.root}/cgi-bin/webhook/send?key={TOKEN}"

    def judge(self, asked: Asked) -> Answer:
        if asked.query.get("key") != TOKEN:
            return code(93000, "invalid webhook url, hint: [1500000000000]")
        said = asked.json
        limits = {"text": 2_048, "markdown": 4_096}
        content = said[said["msgtype"]].get("content", "")
        if said["msgtype"] in limits and len(content.encode()) > limits[said["msgtype"]]:
            return code(40058, f"{said['msgtype']}.content exceed max length {limits[said['msgtype']]}")
        self.taken.append(asked)
        return code(0, "ok")


class Slack(Vendor):
    """One incoming webhook; it answers words."""

    @property
    def url(self) -> str:
        return f"{self.root}/services/T0000/B0000/{TOKEN}"

    def judge(self, asked: Asked) -> Answer:
        if not asked.path.endswith(TOKEN):
            return 403, {}, "invalid_token"
        said: dict[str, Any] = json.loads(asked.body)
        if not said.get("text"):
            return 400, {}, "no_text"
        for block in said.get("blocks", []):
            if block["type"] == "section" and len(block.get("text", {}).get("text", "")) > 3_000:
                return 400, {}, "invalid_blocks"
            if block["type"] == "header" and len(block["text"]["text"]) > 150:
                return 400, {}, "invalid_blocks"
        self.taken.append(asked)
        return 200, {}, "ok"
