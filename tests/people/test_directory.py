"""From a route's sink to a channel; the file is read again when it changes, a broken one keeps the last good one."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from keepstep.adapters.channel_directory import ChannelDirectory
from keepstep.adapters.channel_file import ChannelFile, read
from keepstep.adapters.sink_log import LogSink
from keepstep.adapters.sink_webhook import WebhookSink
from keepstep.ports.errors import Permanent, Transient
from tests.people.notices import StillClock, notice
from tests.people.vendors.robots import TOKEN, WeCom
from tests.people.vendors.server import running

URL = f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={TOKEN}"
GOOD = f"""
channels:
  - {{name: ops, kind: wecom, url: "{URL}"}}
  - {{name: night, kind: log}}
people:
  li: {{wecom: lisi, mobile: "13800000000"}}
allow: [127.0.0.0/8]
"""
GARBLED = [
    ("channels: [", "line 1: not YAML"),
    ("channels: {name: ops}", "channels: Input should be a valid tuple"),
    ("- a\n- b", "valid dictionary"),
    (f'channels: [{{name: ops, kind: wecom, uri: "{URL}"}}]', "channels.0.wecom.uri: is no field of this kind"),
    (f'channels: [{{name: ops, url: "{URL}"}}]', "channels.0: kind is missing"),
    (f'channels: [{{name: ops, kind: pager, url: "{URL}"}}]', "channels.0: "),
    ("people: {li: {mobile: 13800000000}}", "people.li.mobile: is no text: put it in quotes"),
    (
        f'channels: [{{name: o, kind: wecom, url: "{URL}", quiet: [{{start: 22:00, end: "08:00"}}]}}]',
        'quotes, as "22:00"',
    ),
    ("a: &a [1]\nchannels: *a", "aliases are not taken"),
    ("channels: \x00", "a character that YAML does not take"),
    ("[" * 5_000, "nested too deep"),
    ("!!python/object/apply:os.system [true]", "not YAML"),
]


@pytest.mark.parametrize(("text", "fault"), GARBLED)
def test_a_garbled_file_is_told_with_field_and_remedy_and_without_its_secrets(
    tmp_path: Path, text: str, fault: str
) -> None:
    path = tmp_path / "channels.yaml"
    path.write_text(text)
    with pytest.raises(Permanent) as raised:
        read(path)
    assert fault in str(raised.value)
    assert TOKEN not in str(raised.value)
    assert raised.value.__context__ is None


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"{" * 5_000, b'{"channels": 3', b"[" * 100_000])
def test_no_bytes_make_the_reader_fall_over(tmp_path: Path, raw: bytes) -> None:
    for name in ("channels.json", "channels.yaml"):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(Permanent, match=r"channels .*channels\."):
            read(tmp_path / name)


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    import yaml  # noqa: PLC0415 - for this test alone

    (tmp_path / "c.yaml").write_text(GOOD)
    (tmp_path / "c.json").write_text(json.dumps(yaml.safe_load(GOOD)))
    (tmp_path / "empty.yaml").write_text("")
    assert read(tmp_path / "c.yaml") == read(tmp_path / "c.json")
    assert read(tmp_path / "empty.yaml").channels == ()
    with pytest.raises(Permanent, match="mount it there"):
        read(tmp_path / "absent.yaml")


def directory(path: Path | None) -> ChannelDirectory:
    return ChannelDirectory(ChannelFile(path), LogSink(), StillClock(), limit=timedelta(seconds=5))


def test_a_route_names_log_an_address_or_a_channel(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(GOOD)
    find = directory(path)
    assert isinstance(find("log"), LogSink)
    assert isinstance(find("https://hooks.example/x"), WebhookSink)
    assert find("ops") is find("ops"), "a sink remembers what it sent"
    with pytest.raises(Permanent, match="a route names one of log, ops, night"):
        find("nobody")
    with pytest.raises(Permanent, match="a route names one of log,"):
        directory(None)("ops")


def test_a_changed_file_is_read_and_a_broken_one_keeps_the_last_good_one_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(GOOD)
    find = directory(path)
    first = find("ops")
    for broken in ("channels: [", ""):
        if broken:
            path.write_text(broken)
        else:
            path.unlink()
        with capture_logs() as logged:
            assert find("ops") is first
            assert find("ops") is first
        assert [one["event"] for one in logged] == ["channels_kept"], "said once, not at every message"
        assert logged[0]["kept"] == ["ops", "night"]
        with pytest.raises(Transient, match="no channel 'later'"):
            find("later")
    path.write_text(GOOD.replace("name: ops", "name: later"))
    assert find("later")
    with pytest.raises(Permanent):
        find("ops")


def test_a_secret_that_is_swapped_for_an_older_file_is_seen(tmp_path: Path) -> None:
    import os  # noqa: PLC0415 - for this test alone

    old, new, link = tmp_path / "old", tmp_path / "new", tmp_path / "c.yaml"
    old.write_text(GOOD)
    new.write_text(GOOD.replace("name: ops", "name: abc"))
    for one in (old, new):
        os.utime(one, ns=(1_000, 1_000))
    link.symlink_to(new)
    find = directory(link)
    assert find("abc")
    link.unlink()
    link.symlink_to(old)
    assert find("ops")


def test_a_file_that_is_broken_from_the_start_lets_messages_wait(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("channels: [")
    with pytest.raises(Transient, match="not YAML"):
        directory(path)("ops")


async def test_a_changed_allow_list_holds_for_channels_and_plain_addresses(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    with running(WeCom()) as vendor:
        found: dict[str, Any] = {"channels": [{"name": "ops", "kind": "wecom", "url": vendor.url}]}
        path.write_text(json.dumps(found))
        find = directory(path)
        for sink in ("ops", vendor.url):
            with pytest.raises(Permanent, match="add it to allow"):
                await find(sink).deliver(notice())
        path.write_text(json.dumps(found | {"allow": ["127.0.0.1"]}))
        await find("ops").deliver(notice())
        vendor.forced.append((200, {}, "ok"))
        await find(vendor.url).deliver(notice())
        assert len(vendor.asked) == 2
        path.write_text(json.dumps(found | {"allow": ["127.0.0.1"], "proxy": "http://127.0.0.1:1"}))
        with pytest.raises(Transient, match="cannot be reached"):
            await find("ops").deliver(notice())
