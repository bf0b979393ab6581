"""``keepstep notify``: a channel is tried as the notifier would use it, and no secret is printed."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.cli import main
from tests.people.vendors.robots import SECRET, TOKEN, DingTalk
from tests.people.vendors.server import running


def written(folder: Path, url: str, **more: object) -> str:
    path = folder / "channels.json"
    channel = {"name": "ops", "kind": "dingtalk", "url": url, "secret": SECRET, "language": "zh"} | more
    people = {"li": {"mobile": "13800000000"}}
    path.write_text(json.dumps({"channels": [channel], "people": people, "allow": ["127.0.0.1"]}))
    return str(path)


def test_a_channel_is_tried_and_the_vendors_code_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(DingTalk(datetime.now(UTC))) as vendor:
        file = written(tmp_path, vendor.url)
        assert main.run(["notify", "test", "ops", "--channels", file, "--mention", "li", "--mention", "ghost"]) == 0
        (asked,) = vendor.taken
    assert asked.json["at"]["atMobiles"] == ["13800000000"]
    assert "keepstep notify test" in asked.json["markdown"]["text"]
    assert capsys.readouterr().out == "ops (dingtalk) answered 0: ok\nnot called, for ops does not know them: ghost\n"


def test_a_channel_that_refuses_fails_with_code_and_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(DingTalk(datetime.now(UTC))) as vendor:
        file = written(tmp_path, vendor.url, secret="another")  # noqa: S106 - a wrong one, on purpose
        assert main.run(["notify", "test", "ops", "--channels", file]) == 1
    told = capsys.readouterr().err
    assert "310000" in told
    assert "beginning with SEC" in told
    assert TOKEN not in told


def test_the_file_of_the_environment_is_listed_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "KEEPSTEP_NOTIFIER_CHANNELS", written(tmp_path, f"https://oapi.dingtalk.com/?access_token={TOKEN}")
    )
    assert main.run(["notify", "list"]) == 0
    assert main.run(["notify", "list", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "20/min" in shown
    assert TOKEN not in shown
    assert SECRET not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["test", "ops"], 2, "set KEEPSTEP_NOTIFIER_CHANNELS"),
        (["test", "nobody", "--channels", "FILE"], 2, "there is no channel 'nobody'; known are ops"),
        (["list", "--channels", "/nonexistent.yaml"], 1, "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    monkeypatch.delenv("KEEPSTEP_NOTIFIER_CHANNELS", raising=False)
    file = written(tmp_path, "https://oapi.dingtalk.com/")
    assert main.run(["notify", *(file if one == "FILE" else one for one in arguments)]) == code
    assert told in capsys.readouterr().err


def test_an_extra_that_is_missing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("keepstep.adapters.channel_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiosmtplib", None)
    assert main.run(["notify", "test", "ops", "--channels", written(tmp_path, "https://oapi.dingtalk.com/")]) == 1
    assert "pip install 'keepstep[notify]'" in capsys.readouterr().err


def test_every_mistake_between_channels_people_and_groups_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "channels.json"
    robot = {"name": "ops", "kind": "slack", "url": "https://chat.example/a"}
    path.write_text(json.dumps({"channels": [robot, robot], "groups": {"all": ["ghost"], "night": ["nobody"]}}))
    assert main.run(["notify", "list", "--channels", str(path)]) == 1
    told = capsys.readouterr().err
    assert [
        part in told for part in ("ops is there twice", "groups.all: is also", "ghost is nobody", "nobody is nobody")
    ] == [True] * 4


def test_a_chinese_channel_is_tried_in_chinese(tmp_path: Path) -> None:
    with running(DingTalk(datetime.now(UTC))) as vendor:
        assert main.run(["notify", "test", "ops", "--channels", written(tmp_path, vendor.url)]) == 0
        (asked,) = vendor.taken
    text = asked.json["markdown"]["text"]
    assert "渠道 ops 可以收到 keepstep 的通知：这是测试" in text
    assert [word for word in ("nothing is wrong", "this is a test", "kind") if word in text] == []
