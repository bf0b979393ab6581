"""What is wrong with rules and channels is said when they are read, where an operator looks."""

import asyncio
import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from keepstep.cli.channels_watch import channels_watched
from keepstep.contracts.channels import Channels
from keepstep.contracts.notification import Escalation, Route
from keepstep.core.silent_mentions import silent_mentions
from tests.notifier.story import HOOK, Desk, accepted, opened, plain, route

CHAT = {"name": "chat", "kind": "slack", "url": "https://chat.example/a"}


@pytest.mark.parametrize("sink", ["log", HOOK, "lines"])
def test_a_mention_where_nobody_can_be_called_is_named_without_a_secret(sink: str) -> None:
    there = Channels(channels=(plain("lines"),))
    (said,) = silent_mentions((route(sink, mention=("oncall", "li")),), there)
    assert said.startswith("a rule mentions oncall, li at ")
    assert "s3cret" not in said


def test_a_mention_that_calls_people_and_a_rule_without_one_are_in_order() -> None:
    there = Channels.model_validate({"channels": [CHAT]})
    step = Escalation(after=60, sink="log", mention=("boss",))
    assert silent_mentions((route("chat", mention=("li",)), route("log")), there) == ()
    assert len(silent_mentions((route("chat", mention=("li",), escalate=(step,)),), there)) == 1


def test_the_notifier_says_it_when_it_reads_the_rules_and_not_at_each_message() -> None:
    rule = route("log", mention=("oncall",))
    with capture_logs() as lines:
        desk = Desk("log", pool=(rule,))
        desk.tell(opened(), opened("b"), accepted(rule), opened("c"))
    said = [line for line in lines if line["event"] == "mention_calls_nobody"]
    assert [line["job"] for line in said] == ["", "train-1"]


async def test_a_running_stack_tells_of_a_broken_channels_file_once_and_when_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, told = tmp_path / "channels.json", asyncio.Queue[str]()

    def saved(kind: str) -> None:
        (tmp_path / "new").write_text(json.dumps({"channels": [CHAT | {"kind": kind}]}))
        (tmp_path / "new").replace(path)

    saved("slack")
    monkeypatch.setenv("KEEPSTEP_NOTIFIER_CHANNELS", str(path))
    monkeypatch.setenv("KEEPSTEP_NOTIFIER_ROUTES", json.dumps([Route(sink="chat").model_dump(mode="json")]))
    watch = asyncio.create_task(channels_watched(told.put_nowait, every_s=0.01))
    try:
        saved("carrier pigeon")
        broken = await asyncio.wait_for(told.get(), 20)
        saved("slack")
        mended = await asyncio.wait_for(told.get(), 20)
    finally:
        watch.cancel()
    assert "the channels that were read before stay in use" in broken
    assert mended == f"channels {path}: in order again"
