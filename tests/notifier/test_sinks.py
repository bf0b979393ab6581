"""Where sinks are found: addresses as ever, channels by the file that may come, change and be taken away."""

import json
from pathlib import Path

import pytest

from keepstep.adapters.sink_webhook import WebhookSink
from keepstep.notifier.settings import Settings
from keepstep.notifier.sinks import directory, ways_of
from keepstep.ports.errors import Permanent

LINES = {"channels": [{"name": "ops", "kind": "log"}]}


def site(path: Path | None, monkeypatch: pytest.MonkeyPatch) -> Settings:
    if path is not None:
        monkeypatch.setenv("KEEPSTEP_NOTIFIER_CHANNELS", str(path))
    return Settings()


@pytest.mark.parametrize("named", [False, True], ids=["no-file-named", "file-not-there"])
def test_without_a_channels_file_addresses_and_the_log_are_found_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    settings = site(tmp_path / "channels.json" if named else None, monkeypatch)
    ways, found = ways_of(settings)
    find = directory(settings, found=found)
    assert isinstance(find("http://bridge.monitoring.svc/hook"), WebhookSink)
    find("log")
    with pytest.raises(Permanent, match="there is no channel ops: put the channels file") as refused:
        ways.find("ops")
    assert refused.value.code == "unknown_channel"
    assert not ways.channels().channels


def test_a_channels_file_is_heeded_once_it_is_there_and_a_broken_one_leaves_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "channels.json"
    ways, _ = ways_of(site(path, monkeypatch))
    path.write_text(json.dumps(LINES))
    ways.find("ops")
    assert ways.channels().channel("ops") is not None
    path.write_text('{"channels": [{"name": "ops", "kind": "pigeon"}]}')
    assert ways.channels().channel("ops") is not None
    ways.find("ops")


def test_a_name_that_is_not_in_the_file_is_said_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "channels.json"
    path.write_text(json.dumps(LINES))
    ways, _ = ways_of(site(path, monkeypatch))
    with pytest.raises(Permanent, match="there is no sink 'oncal': a route names one of log, ops") as refused:
        ways.find("oncal")
    assert refused.value.code == "unknown_channel"
    assert "keepstep deadletter replay" in str(refused.value)
