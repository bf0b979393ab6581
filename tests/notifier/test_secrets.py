"""An address with a secret in it never shows, nowhere."""

import pytest

from keepstep.core.masking import masked
from keepstep.ports.errors import Permanent, Transient
from tests.notifier.story import (
    HOOK,
    Desk,
    accepted,
    closed,
    opened,
    route,
)


async def test_an_address_with_a_secret_never_shows() -> None:
    desk = Desk(HOOK).tell(accepted(route(HOOK)), opened(), closed())
    desk.sinks[HOOK].raises = [Transient("away"), Permanent("gone")]
    shown = [repr(list(desk.stage.effects(fold))) for fold in desk.folds.values()]
    shown += [effect.id for fold in desk.folds.values() for effect in desk.stage.effects(fold)]
    await desk.deliver()
    await desk.later()
    shown += [said.model_dump_json() for said in desk.said]
    assert len(desk.endings) == 2
    assert not [text for text in shown if "s3cret" in text or "pass@" in text or "/robot" in text]
    assert desk.endings[0].sink == "https://hooks.example.com:8443"


@pytest.mark.parametrize(
    ("sink", "shown"),
    [
        ("log", "log"),
        (HOOK, "https://hooks.example.com:8443"),
        ("http://[::1]:80/x", "http://[::1]:80"),
        ("https://HOST/secret", "https://host"),
        ("http://[broken/secret", "http"),
        ("http://h:port/secret", "http"),
        ("dingtalk:secret", "dingtalk"),
        ("hooks.example.com/robot/s3cret", "hooks.example.com"),
        ("robot?key=s3cret", "robot"),
    ],
)
def test_of_an_address_only_the_host_shows(sink: str, shown: str) -> None:
    assert masked(sink) == shown
