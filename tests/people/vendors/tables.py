"""The vendors' code tables as the facts have them: code, text, and what is to become of the message."""

SENT, AGAIN, RESIGN, NEVER = "sent", "again", "resign", "never"

ERRCODES: dict[str, list[tuple[int, str, str]]] = {
    "dingtalk": [
        (0, "ok", SENT),
        (-1, "system busy", AGAIN),
        (130101, "send too fast, exceed 20 times per minute", AGAIN),
        (410100, "sent too fast, throttled", AGAIN),
        (310000, "keywords not in content", NEVER),
        (310000, "Sign not match, more: [https://ding-doc.dingtalk.com]", NEVER),
        (310000, "Invalid Timestamp", RESIGN),
        (310000, "ip 1.2.3.4 not in whitelist", NEVER),
        (300001, "token is not exist", NEVER),
        (300005, "token is not exist", NEVER),
        (400101, "access_token does not exist", NEVER),
        (400102, "robot stopped", NEVER),
        (400013, "group dissolved", NEVER),
        (400105, "unsupported msgtype", NEVER),
        (400106, "robot does not exist", NEVER),
        (40035, "missing parameter json", NEVER),
        (43002, "require POST method", NEVER),
        (43004, "invalid http Content-Type header", NEVER),
        (460101, "message too long, exceed 20000 bytes", NEVER),
        (424242, "a code of tomorrow", AGAIN),
    ],
    "feishu": [
        (0, "success", SENT),
        (19021, "sign match fail or timestamp is not within one hour from current time", RESIGN),
        (19022, "Ip Not Allowed", NEVER),
        (19024, "Key Words Not Found", NEVER),
        (19001, "param invalid: incoming webhook access token invalid", NEVER),
        (9499, "Bad Request", NEVER),
        (9499, "Too Many Requests", AGAIN),
        (11232, "frequency limited psm", AGAIN),
        (19036, "body too large", NEVER),
    ],
    "wecom": [
        (0, "ok", SENT),
        (45009, "api freq out of limit", AGAIN),
        (93000, "invalid webhook url", NEVER),
        (40058, "markdown.content exceed max length 4096", NEVER),
        (-1, "system busy", AGAIN),
    ],
}
ERRCODES["lark"] = ERRCODES["feishu"]

WORDS: list[tuple[int, str, str]] = [
    (200, "ok", SENT),
    (429, "rate_limited", AGAIN),
    (500, "rollup_error", AGAIN),
    (400, "invalid_payload", NEVER),
    (400, "no_text", NEVER),
    (400, "user_not_found", NEVER),
    (404, "channel_not_found", NEVER),
    (410, "channel_is_archived", NEVER),
    (403, "action_prohibited", NEVER),
    (403, "posting_to_general_channel_denied", NEVER),
    (404, "no_service", NEVER),
    (403, "invalid_token", NEVER),
    (200, "no_team", NEVER),
]
"""Slack's, which come with statuses of their own."""
