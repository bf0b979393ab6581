"""A request of one's own making: for any address that takes one, and for gateways of SMS and phone."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import httpx
import orjson

from keepstep.adapters.channel_document import document
from keepstep.adapters.channel_markup import Format, of_people
from keepstep.adapters.channel_post import SHOWN, Reply, Request
from keepstep.adapters.channel_replies import UNKNOWN, Fate, Row
from keepstep.adapters.channel_robot import Judged, Payload
from keepstep.adapters.channel_secret import address_of, revealed
from keepstep.adapters.channel_signature import webhook_signature
from keepstep.adapters.channel_values import short_texts, spoken_text, values_of
from keepstep.adapters.channel_words import cleaned
from keepstep.contracts.channel_kinds import Answer, Call, Gateway, Phone, Webhook
from keepstep.ports.errors import Permanent
from keepstep.ports.sink import Notice

SIGNATURE = "X-Keepstep-Signature"


class WebhookVendor:
    """Vendor of a channel of the kind ``webhook``."""

    def __init__(self, channel: Webhook) -> None:
        """``channel`` is its part of the channels file."""
        self._channel = channel

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the values of the one request; a receiver of JSON takes a digest whole."""
        return [{"document": document(cleaned(notice)), "values": dict(values_of(notice, self._channel))}]

    def request(self, part: Payload, now: datetime) -> Request:
        """Return the request; with a secret, signed for ``now``."""
        channel = self._channel
        url = address_of(channel)
        secret = revealed(channel.secret, channel.secret_file)
        return made(channel.call, url, _values(part), _values(part, "document"), name=channel.name, sign=(secret, now))

    def judged(self, reply: Reply) -> Judged | None:
        """Return what the answer says by the channel's own table, or by its status."""
        return judged_by(self._channel.call.answer, reply)


class GatewayVendor:
    """Vendor of the kinds ``sms`` and ``phone`` that call a gateway of their own."""

    def __init__(self, channel: Gateway) -> None:
        """``channel`` is its part of the channels file."""
        self._channel = channel

    def parts(self, notice: Notice) -> Sequence[Payload]:
        """Return the values of each request: per text, and per number where the gateway takes one at a time."""
        channel, values = self._channel, dict(values_of(notice, self._channel))
        numbers = numbers_of(channel, notice)
        groups = [(one,) for one in numbers] if channel.each else [numbers]
        said = [(text, list(group)) for text in texts(channel, notice) for group in groups]
        return [
            {"values": values | {"id": _id(notice.id, number), "to": group, "message": text}}
            for number, (text, group) in enumerate(said)
        ]

    def request(self, part: Payload, now: datetime) -> Request:
        """Return the request."""
        channel, values = self._channel, _values(part)
        url = address_of(channel)
        return made(channel.call, url, values, values, name=channel.name, sign=("", now))

    def judged(self, reply: Reply) -> Judged | None:
        """Return what the answer says by the channel's own table, or by its status."""
        return judged_by(self._channel.call.answer, reply)


def _id(notice: str, number: int) -> str:
    """Return what a gateway deduplicates by: the notice's id for its first request, one of their own for the others."""
    return f"{notice}-{number}" if number else notice


def numbers_of(channel: Gateway, notice: Notice) -> tuple[str, ...]:
    """Return the numbers that are told, each once. Raises Permanent if there are none."""
    numbers = tuple(dict.fromkeys((*channel.to, *notice.mentions.mobiles)))
    if not numbers:
        raise Permanent(f"{channel.name}: nobody to tell: set to, or mention people with a mobile in the rule")
    return numbers


def texts(channel: Gateway, notice: Notice) -> Sequence[str]:
    """Return what is said, each text as long as the gateway takes."""
    if isinstance(channel, Phone):
        return (spoken_text(notice, channel, channel.longest),)
    return short_texts(notice, channel, channel.longest)


def made(
    call: Call,
    url: httpx.URL,
    values: Mapping[str, object],
    whole: Mapping[str, object],
    *,
    name: str,
    sign: tuple[str, datetime],
) -> Request:
    """Return the request of a call; ``whole`` is its body where it has no template. Raises Permanent for a template."""
    params = {
        key: of_people(text.get_secret_value(), Format.TEXT, values, where=f"{name}: call.params.{key}")
        for key, text in call.params.items()
    }
    headers = {key: value.get_secret_value() for key, value in call.headers.items()}
    content = b"" if call.method == "GET" else _body(call, values, whole, name)
    secret, now = sign
    own = {"Idempotency-Key": str(values["id"])}
    own |= {} if call.method == "GET" else {"Content-Type": call.content_type}
    own |= {SIGNATURE: webhook_signature(secret, now, content)} if secret else {}
    return Request(
        url.copy_merge_params(params) if params else url,
        content,
        call.method,
        own | headers,
        secrets=(secret, *headers.values(), *params.values()),
    )


def _body(call: Call, values: Mapping[str, object], whole: Mapping[str, object], name: str) -> bytes:
    if call.body is None:
        return orjson.dumps(whole)
    form = _format(call.content_type)
    text = of_people(call.body.get_secret_value(), form, values, where=f"{name}: call.body")
    if form is Format.JSON:
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError as error:
            fault = error.msg
        else:
            return text.encode()
        raise Permanent(f"{name}: call.body makes no JSON ({fault}): put texts in quotes, or use tojson without any")
    return text.encode()


def _format(content_type: str) -> Format:
    kind = content_type.lower()
    if "json" in kind:
        return Format.JSON
    if "form-urlencoded" in kind:
        return Format.FORM
    return Format.HTML if "html" in kind or "xml" in kind else Format.TEXT


def judged_by(answer: Answer | None, reply: Reply) -> Judged | None:
    """Return what a field of the JSON answer says, without one what the status does; None: the status decides."""
    if answer is None:
        sent = 200 <= reply.status < 300
        return Judged(Row(str(reply.status), Fate.SENT, ""), str(reply.status), "") if sent else None
    found = _at(reply.json(), answer.field)
    if found is None:
        return None
    code = found if isinstance(found, str) else orjson.dumps(found).decode()
    if code in answer.success:
        row = Row(code, Fate.SENT, "")
    elif code in answer.retry:
        row = Row(code, Fate.AGAIN, "", pause=UNKNOWN.pause)
    else:
        row = Row(code, Fate.NEVER, f"{answer.field} is none of call.answer's success and retry")
    return Judged(row, code[:80], reply.text[:SHOWN])


def _at(value: object, path: str) -> object:
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _values(part: Payload, key: str = "values") -> Mapping[str, object]:
    values = part[key]
    return values if isinstance(values, dict) else {}
