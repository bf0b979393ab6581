"""Who gives an order from a terminal."""

import getpass
import os

import pytest

from keepstep.cli.say import order
from keepstep.contracts.ids import Pool
from keepstep.contracts.orders import PauseActions


def test_a_user_without_a_name_gives_orders_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run under numbers that no file of users knows."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert order(PauseActions, Pool("p")).by == f"uid {os.getuid()}"
