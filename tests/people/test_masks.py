"""No secret of a channel shows, whatever goes wrong and wherever one looks."""

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from structlog.testing import capture_logs

from keepstep.adapters.channel_secret import Mask, address, revealed
from keepstep.ports.errors import KeepstepError, Permanent, Transient
from tests.people.notices import NOW, notice, sink_of
from tests.people.vendors import robots
from tests.people.vendors.server import running

HIDDEN = (robots.TOKEN, robots.SECRET, "hunter2-in-a-header", "pa55-of-the-mail")


def everything(error: BaseException) -> str:
    """Return all that a log of the error can show, with the locals of its frames."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=False)
    chain = [error, error.__cause__, error.__context__]
    return "".join(shown.format()) + repr(chain) + str(error)


def broken(kind: str, root: str) -> dict[str, Any]:
    """Return a channel whose secrets are in every place that there is for one."""
    url = f"{root}/{robots.TOKEN}/send?key={robots.TOKEN}&access_token={robots.TOKEN}"
    match kind:
        case "mail":
            auth = {"user": "u", "password": HIDDEN[3], "tls": "starttls"}
            return {"kind": kind, "host": "127.0.0.1", "port": 1, "sender": "a@b.example", "to": ["c@d.example"]} | auth
        case "webhook" | "sms" | "phone":
            call = {"headers": {"Authorization": HIDDEN[2]}, "params": {"token": robots.TOKEN}}
            to = {} if kind == "webhook" else {"to": ["13800000000"], "minimum": "info"}
            return {"kind": kind, "url": url, "call": call} | to
        case "apprise":
            return {"kind": kind, "url": root.replace("http://", "gotify://") + f"/{robots.TOKEN}"}
        case "dingtalk" | "feishu":
            return {"kind": kind, "url": url, "secret": robots.SECRET}
        case _:
            return {"kind": kind, "url": url}


KINDS = ("dingtalk", "feishu", "wecom", "slack", "webhook", "sms", "phone", "mail", "apprise")


@pytest.fixture
def server() -> Iterator[robots.WeCom]:
    with running(robots.WeCom()) as fake:
        yield fake


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["refused", "echoed", "garbled", "away", "forbidden"])
async def test_no_secret_shows_in_what_is_said_of_a_failure(
    kind: str, fault: str, server: robots.WeCom, caplog: pytest.LogCaptureFixture
) -> None:
    made = broken(kind, "http://127.0.0.1:1" if fault == "away" else server.root)
    echo = f"no such token {robots.TOKEN} nor {robots.SECRET} nor {HIDDEN[2]}"
    said = {"errcode": 300001, "errmsg": echo, "code": 19022, "msg": echo}
    server.forced.extend([(403, {}, "") if fault == "refused" else (400, {}, said if fault == "echoed" else echo)] * 4)
    with caplog.at_level(logging.DEBUG), capture_logs() as logged:
        sink = sink_of(made, allow=() if fault == "forbidden" else ("127.0.0.0/8",))
        with pytest.raises(KeepstepError) as raised:
            await sink.deliver(notice())
    shown = {
        "error": everything(raised.value),
        "log": caplog.text,
        "lines": str(logged),
        "sink": repr(sink) + repr(vars(sink)),
    }
    own = [one for one in HIDDEN if one in str(made)]
    assert [(where, one) for where, text in shown.items() for one in own if one in text] == []
    assert raised.value.__context__ is None


SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)
AROUND = st.text(max_size=60)


@settings(deadline=None)
@given(SECRETS, AROUND, AROUND)
def test_a_mask_hides_a_secret_in_any_text(secret: str, before: str, after: str) -> None:
    assert secret not in Mask((secret,)).hide(before + secret + after) or set(secret) == {"*"}


TOKENS = st.text("abcdefghijklmnopqrstuvwxyzABCDEF0123456789-_+/=%", min_size=12, max_size=40)


@settings(deadline=None)
@given(TOKENS)
def test_a_mask_hides_the_parts_of_an_address(token: str) -> None:
    mask = Mask((f"https://h.example/hook/{token.replace('/', 'x')}?key={token.replace('%', 'p').replace('+', 'q')}",))
    for part in (token.replace("/", "x"), token.replace("%", "p").replace("+", "q")):
        assert part not in mask.hide(f"answered: {part} is unknown")


def test_an_address_that_is_none_is_refused_without_a_word_of_it() -> None:
    for wrong in (
        f"oapi.example/robot?access_token={robots.TOKEN}",
        f"ftp://h/{robots.TOKEN}",
        f"https:///{robots.TOKEN}",
    ):
        with pytest.raises(Permanent, match="correct the url of channel ops") as raised:
            address(wrong, of="url of channel ops")
        assert robots.TOKEN not in everything(raised.value)


def test_a_secret_of_a_file_is_read_at_every_use(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    with pytest.raises(Transient, match="mount the Secret there"):
        revealed(None, file)
    for text in ("one\n", " two"):
        file.write_text(text)
        assert revealed(None, file) == text.strip()
    for raw in (b"\xff\xfe", b"", b"a\nb"):
        file.write_bytes(raw)
        with pytest.raises(Permanent, match="write it anew"):
            revealed(None, file)
    assert revealed(SecretStr(" here "), None) == "here"
    assert revealed(None, None) == ""


async def test_a_renewed_secret_file_needs_no_restart(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("of yesterday")
    with running(robots.DingTalk(NOW)) as vendor:
        sink = sink_of({"kind": "dingtalk", "url": vendor.url, "secret_file": str(file)})
        with pytest.raises(Permanent, match="sign"):
            await sink.deliver(notice())
        file.write_text(robots.SECRET)
        await sink.deliver(notice())
        assert len(vendor.taken) == 1
